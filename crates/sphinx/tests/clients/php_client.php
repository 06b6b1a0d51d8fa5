<?php
// What php-memcached asks of a server; prints one line for each step. Usage: php php_client.php HOST PORT, or a path and 0, [binary]
$client = new Memcached();
$client->setOption(Memcached::OPT_BINARY_PROTOCOL, ($argv[3] ?? '') === 'binary');
$client->setOption(Memcached::OPT_COMPRESSION, false);
$client->setOption(Memcached::OPT_TCP_NODELAY, true);
$client->addServer($argv[1], (int) $argv[2]);
function say($what, $value) { echo "$what: $value\n"; }
function text($value) { return $value === false ? "none" : $value; }
say("set", $client->set("k", "v1") ? "stored" : "refused");
say("get", text($client->get("k")));
say("missing", text($client->get("none")));
$client->setMulti(["a" => "1", "b" => "2"]);
$found = $client->getMulti(["a", "b", "none"]);
ksort($found);
say("multi", implode(" ", array_map(fn($key) => "$key=" . $found[$key], array_keys($found))));
say("add", $client->add("k", "x") ? "stored" : "refused");
say("replace", $client->replace("k", "v2") ? "stored" : "refused");
$item = $client->get("k", null, Memcached::GET_EXTENDED);
say("cas", $client->cas($item["cas"], "k", "v3") ? "stored" : "refused");
say("stale cas", $client->cas($item["cas"], "k", "v4") ? "stored" : "refused");
$client->set("n", 10);
say("incr", $client->increment("n", 5));
say("decr", $client->decrement("n", 3));
$client->append("k", ">");
$client->prepend("k", "<");
say("append", text($client->get("k")));
say("delete", $client->delete("k") && $client->get("k") === false ? "gone" : "there");
$client->set("t", "x", 3600);
say("touch", $client->touch("t", 1) ? "kept" : "lost");
$client->set("e", "x", 1);
$until = microtime(true) + 30;
while (count($client->getMulti(["e", "t"])) > 0 && microtime(true) < $until) {
    usleep(50000);
}
say("expiry", count($client->getMulti(["e", "t"])) . " left");
$client->set("large", str_repeat("v", 500000));
say("large", strlen($client->get("large")));
$binary = implode("", array_map("chr", range(0, 255))) . "\r\nEND\r\n";
$client->set("binary", $binary);
say("binary", $client->get("binary") === $binary ? "same" : "other");
if (count($client->getStats()) !== 1) exit(1);
echo "done\n";
