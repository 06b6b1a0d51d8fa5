# What Dalli 3 asks of a server, in the binary protocol as by default; prints one line for each step.
# Usage: ruby dalli_client.rb HOST:PORT, or a path, [USER PASSWORD]
require 'logger'
require 'dalli'

Dalli.logger = Logger.new(File::NULL)
place, user, password = ARGV
options = { socket_timeout: 60, username: user, password: password }.compact
client = Dalli::Client.new(place, options)
RAW = { raw: true }.freeze
text = ->(value) { value.nil? ? 'none' : value }
stored = ->(yes) { yes ? 'stored' : 'refused' }
begin
  puts "set: #{stored.(client.set('k', 'v1', nil, RAW))}"
rescue Dalli::DalliError => error
  abort "failed: #{error.class}"
end
puts "get: #{text.(client.get('k'))}"
puts "missing: #{text.(client.get('none'))}"
client.multi do
  client.set('a', '1', nil, RAW)
  client.set('b', '2', nil, RAW)
end
puts "multi: #{client.get_multi('a', 'b', 'none').sort.map { |key, value| "#{key}=#{value}" }.join(' ')}"
puts "add: #{stored.(client.add('k', 'x', nil, RAW))}"
puts "replace: #{stored.(client.replace('k', 'v2', nil, RAW))}"
unique = client.get_cas('k').last
puts "cas: #{stored.(client.set_cas('k', 'v3', unique, nil, RAW))}"
puts "stale cas: #{stored.(client.set_cas('k', 'v4', unique, nil, RAW))}"
client.set('n', '10', nil, RAW)
puts "incr: #{client.incr('n', 5)}"
puts "decr: #{client.decr('n', 3)}"
client.append('k', '>')
client.prepend('k', '<')
puts "append: #{text.(client.get('k'))}"
puts "delete: #{client.delete('k') && client.get('k').nil? ? 'gone' : 'there'}"
client.set('t', 'x', 3600, RAW)
puts "touch: #{client.touch('t', 1) ? 'kept' : 'lost'}"
client.set('e', 'x', 1, RAW)
limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 30
sleep 0.05 while client.get_multi('e', 't').any? && Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit
puts "expiry: #{client.get_multi('e', 't').size} left"
client.set('large', 'v' * 500_000, nil, RAW)
puts "large: #{client.get('large').bytesize}"
binary = (0..255).map(&:chr).join.b + "\r\nEND\r\n".b
client.set('binary', binary, nil, RAW)
puts "binary: #{client.get('binary').b == binary ? 'same' : 'other'}"
exit 1 unless client.stats.values.all? && client.alive!
puts 'done'
client.close
