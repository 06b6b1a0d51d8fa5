<?php

declare(strict_types=1);

// Tests without database and cache: php units.php. Each line of output is a failure; the last one counts.

namespace Social;

require dirname(__DIR__) . '/site/src/load.php';

$checks = $failures = 0;

function same(mixed $found, mixed $expect, string $what): void
{
    global $checks, $failures;
    $checks++;
    if ($found !== $expect) {
        $failures++;
        echo "$what: ", var_export($found, true), ' and not ', var_export($expect, true), "\n";
    }
}

/** The status of the problem that a call ends with; 0 on success. */
function status(callable $call): int
{
    try {
        $call();
        return 0;
    } catch (Problem $problem) {
        return $problem->status;
    }
}

// Tokens.
$csrf = new Csrf(str_repeat('s', 32));
[$sid, $other] = [Session::newId(), Session::newId()];
$token = $csrf->token($sid);
same(strlen($token), 64, 'a token');
same($token === $csrf->token($sid) && $token !== $csrf->token($other), true, 'a token is that of its session');
same($token === (new Csrf(str_repeat('t', 32)))->token($sid), false, 'a token is that of its installation');
same(str_contains($token, $sid), false, 'a token tells nothing of the id');
$with = static fn (array $form, array $server = []): Request => new Request('POST', '/', [], $form, [], $server);
same(status(fn () => $csrf->check($with(['csrf' => $token]), $sid)), 0, 'as a field');
same(status(fn () => $csrf->check($with([], ['HTTP_X_CSRF' => $token]), $sid)), 0, 'as a header');
same(status(fn () => $csrf->check($with(['csrf' => $token]), $other)), 403, 'of another session');
same(status(fn () => $csrf->check($with(['csrf' => $token]), null)), 403, 'without a session');
same(status(fn () => $csrf->check($with([]), $sid)), 403, 'without a token');
same(status(fn () => $csrf->check($with(['csrf' => '']), $sid)), 403, 'an empty one');
same(status(fn () => $csrf->check($with(['csrf' => [$token]]), $sid)), 403, 'a list');
same(status(fn () => $csrf->check($with(['csrf' => substr($token, 1)]), $sid)), 403, 'a part');
$short = false;
try {
    new Csrf('short');
} catch (\LogicException) {
    $short = true;
}
same($short, true, 'a secret that can be guessed');

// Ids of sessions.
$ids = array_map(static fn (): string => Session::newId(), range(1, 1000));
same(count(array_unique($ids)), 1000, 'ids differ');
same(count(array_filter($ids, Session::isId(...))), 1000, 'ids are ids');
foreach (['', 'x', str_repeat('0', 31), str_repeat('0', 33), str_repeat('G', 32), str_repeat('A', 32), "$sid\n", "../$sid"] as $bad) {
    same(Session::isId($bad), false, "id '$bad'");
}

// Names.
foreach (['abc' => true, 'u0000001' => true, 'a_b' => true, 'ab' => false, '1ab' => false, 'Abc' => false, 'a b' => false,
    "abc\n" => false, 'a-b' => false, 'äbc' => false, 'a.b' => false, str_repeat('a', 33) => false] as $name => $is) {
    same(Users::isName((string) $name), $is, "name '$name'");
}

// Content of a request.
$request = new Request('GET', '/', ['since' => '12', 'list' => ['a'], 'bad' => "\xff"], ['body' => " a\r\nb \n"]);
same($request->since(), 12, 'since');
same([$request->query('list'), $request->query('bad'), $request->query('none')], ['', '', ''], 'what is no text');
same($request->written('body', 3), "a\nb", 'a text');
same(status(fn () => $request->written('body', 2)), 422, 'a text that is too long');
same(status(fn () => $request->written('none', 2)), 422, 'no text');
same((new Request('POST', '/', [], ['b' => str_repeat('é', 2000)]))->written('b', 2000), str_repeat('é', 2000), 'characters are no bytes');
foreach (['', '-1', '1.5', '1e3', ' 1', '1 ', '0x1', '1;', str_repeat('9', 19)] as $bad) {
    same(status(fn () => (new Request('GET', '/', ['since' => $bad]))->since()), 422, "since '$bad'");
}
same((new Request('GET', '/ajax/feed'))->isAjax(), true, 'for the script');
same((new Request('GET', '/u/ajax'))->isAjax(), false, 'for a person');

// Redirects lead nowhere else.
foreach (['/' => true, '/u/abc' => true, '/login?registered=1' => true, '//x' => false, '/\\x' => false, 'http://x' => false, '' => false,
    "/a\r\nX: y" => false, '/a b' => false] as $path => $is) {
    $made = true;
    try {
        Reply::redirect((string) $path);
    } catch (\LogicException) {
        $made = false;
    }
    same($made, $is, "redirect to '$path'");
}

// Users and posts.
same((new User(1, 'abc', 'Ada  de la Brandt', 0))->initials(), 'AB', 'initials');
same((new User(1, 'abc', 'élan', 0))->initials(), 'É', 'initials of one word');
same((new User(1, 'abc', 'x', 0))->colour(), (97 + 98 + 99) % 12, 'colour');
$user = new User(7, 'abc', "a\"b</script>", 2);
same(User::unpacked($user->packed()) == $user, true, 'a user from the cache');
$post = static fn (int $id, int $at): Post => new Post($id, 1, 1, 'b', $at);
same(Feed::cursor([], 100_000), 0, 'the cursor of nothing');
same(Feed::cursor([$post(9, 99_000), $post(7, 90_000), $post(5, 10_000)], 100_000), 7, 'the cursor is settled');
same(Feed::cursor([$post(9, 99_000), $post(7, 98_000)], 100_000), 6, 'the cursor is below what is not');
same($post(1, 1_700_000_000_123)->time(), '2023-11-14T22:13:20Z', 'a time');
same([$post(1, time() * 1000)->ago(), $post(1, (time() - 7300) * 1000)->ago()], ['just now', '2 h'], 'how long ago');

// After a brief failure of the cache, stale entries last no longer than the newest posts and messages.
foreach ([Friends::class, Users::class, Wall::class, Chat::class] as $class) {
    same((new \ReflectionClassConstant($class, 'KEEP'))->getValue(), 600, "seconds in the cache: $class");
}

// Pictures.
$image = static function (int $width, int $height, callable $encode): string {
    $image = imagecreatetruecolor($width, $height);
    imagefilledrectangle($image, 0, 0, $width, $height, (int) imagecolorallocate($image, 200, 0, 0));
    ob_start();
    $encode($image);
    return (string) ob_get_clean();
};
foreach (['imagejpeg', 'imagepng', 'imagegif', 'imagewebp'] as $encode) {
    $file = Avatar::encoded($image(300, 40, $encode) . '<?php evil(); ?>');
    [$width, $height, $kind] = getimagesizefromstring($file);
    same([$width, $height, $kind, str_contains($file, 'evil')], [256, 256, IMAGETYPE_JPEG, false], $encode);
}
foreach (['', 'text', '<svg/>', "GIF89a\x01\x00\x01\x00", substr($image(30, 30, 'imagepng'), 0, 40)] as $bad) {
    same(status(fn () => Avatar::encoded($bad)), 422, 'a picture: ' . bin2hex($bad));
}
// A head that claims 40 000 × 40 000 pixels.
$bomb = substr_replace($image(30, 30, 'imagepng'), pack('NN', 40_000, 40_000), 16, 8);
same(status(fn () => Avatar::encoded($bomb)), 422, 'a picture that is larger than it looks');

// How long a request waited for a process.
same(Timing::queue('1736.123', 1736.125), 'queue;dur=1.500, ', 'a wait, of which half a millisecond was cut off');
same(Timing::queue('1736.123', 1736.1232), 'queue;dur=0.000, ', 'none');
same([Timing::queue('', 1.0), Timing::queue('soon', 1.0), Timing::queue("1.000\n", 1.0)], ['', '', ''], 'not known');

// The counters of PHP's processes, from a stand-in that answers as PHP does; `$path` leads to `ss`.
$counters = static function (string $path): array {
    $file = sys_get_temp_dir() . '/social-units-' . bin2hex(random_bytes(8)) . '.sock';
    $server = stream_socket_server("unix://$file");
    $command = [PHP_BINARY, '-n', dirname(__DIR__) . '/site/bin/status.php', "unix:$file"];
    $process = proc_open($command, [1 => ['pipe', 'w']], $pipes, null, ['PATH' => $path]);
    $client = stream_socket_accept($server, 60.0);
    // Reads up to the empty record that ends the input: closing earlier would discard the answer.
    for ($asked = ''; !feof($client) && !str_ends_with($asked, pack('CCnnCx', 1, 5, 1, 0, 0));) {
        $asked .= fread($client, 8192);
    }
    $text = "Content-Type: application/json\r\n\r\n"
        . '{"accepted conn":7,"listen queue":0,"max listen queue":0,"listen queue len":0}';
    fwrite($client, pack('CCnnCx', 1, 6, 1, strlen($text), 0) . $text);
    fclose($client);
    $said = (string) stream_get_contents($pipes[1]);
    proc_close($process);
    unlink($file);
    return json_decode($said, true, 4, JSON_THROW_ON_ERROR);
};
same($counters('/nowhere'), ['accepted conn' => 7], 'counters where the kernel is not asked how many wait');
$tools = sys_get_temp_dir() . '/social-units-' . bin2hex(random_bytes(8));
mkdir($tools);
file_put_contents("$tools/ss", "#!/bin/sh\necho 'u_str LISTEN 3 511 x.sock 1 * 0'\n");
chmod("$tools/ss", 0o755);
$expect = ['accepted conn' => 7, 'listen queue' => 3, 'listen queue len' => 511];
same($counters($tools), $expect, 'counters with those who wait');
unlink("$tools/ss");
rmdir($tools);

// Templates escape their output.
$folder = sys_get_temp_dir() . '/social-units-' . bin2hex(random_bytes(8));
$view = new View($folder);
$page = $view->render('error', ['status' => 404, 'message' => '<script>x</script>"\'&', 'me' => null, 'token' => null]);
same(str_contains($page, '<script>x'), false, 'a message is text');
same(str_contains($page, '&lt;script&gt;x&lt;/script&gt;&quot;&#039;&amp;'), true, 'a message is whole');
same(str_contains($page, '<main id="error">'), true, 'an error page');
$files = new \RecursiveIteratorIterator(
    new \RecursiveDirectoryIterator($folder, \FilesystemIterator::SKIP_DOTS),
    \RecursiveIteratorIterator::CHILD_FIRST,
);
foreach ($files as $file) {
    $file->isDir() ? rmdir($file->getPathname()) : unlink($file->getPathname());
}
rmdir($folder);

// No template says that something is safe.
foreach (glob(dirname(__DIR__) . '/site/templates/*.twig') as $file) {
    same(preg_match('/\|\s*raw|autoescape/', (string) file_get_contents($file)), 0, basename($file));
}

echo "$checks checks, $failures failures\n";
exit($failures === 0 ? 0 : 1);
