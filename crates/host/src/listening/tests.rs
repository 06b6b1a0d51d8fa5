use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use proptest::prelude::*;

use super::*;

const HEAD: &str =
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
const TCP: &str = "\
   0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000   112        0 11 1 0 100 0 0 10 0
   1: 0100007F:2BCB 0100007F:C001 03 00000000:00000000 00:00000000 00000000   112        0 12 1 0 20 4 30 10 -1
   2: 00000000:2BCC 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0 0 10 0
   3: 0200007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0 0 10 0
   4: 00000000:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 15 1 0 100 0 0 10 0
   5: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 16 1 0 100 0 0 10 0
   6: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 17 1 0 100 0 0 10 0
   7: 0100007F:2BCB 0100007F:C002 01 00000000:00000000 00:00000000 00000000   112        0 18 1 0 20 4 30 10 -1
   8: damaged
   9: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000   112        0 19 1 0 100 0 0 10 0
";
const TCP6: &str = "\
   0: 00000000000000000000000000000000:2BCB 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 21 1 0 100
   1: 00000000000000000000000001000000:2BCC 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 22 1 0 100
   2: 00000000000000000000000000000000:2BCD 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 23 1 0 100
   3: 0000000000000000FFFF00000100007F:2BCE 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 24 1 0 100
";
const UDP: &str = "\
  99: 0100007F:2BCB 00000000:0000 07 00000000:00000000 00:00000000 00000000   112        0 31 2 0 0
 100: 0100007F:2BCB 0100007F:C001 01 00000000:00000000 00:00000000 00000000   112        0 32 2 0 0
";
const UNIX: &str = "\
Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 41 /run/a b.sock
0000000000000000: 00000003 00000000 00000000 0001 03 42 /run/a b.sock
0000000000000000: 00000002 00000000 00010000 0001 01 43 @hidden
0000000000000000: 00000003 00000000 00000000 0001 03 44
";

#[test]
fn rows_of_tables_are_read() {
    let text = format!(
        "{HEAD}\
         0: 0100007F:2BCB 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65534 0 4711 1 0 100 0 0 10 0\n\
         1: 0100007F:2BCB 0100007F:C001 01 00000000:00000000 00:00000000 00000000 65534 0 4712 1 0 20 4 30 10 -1\n\
         2: damaged\n\
         3: 0000000000000000FFFF00000100007F:2BCB 0000000000000000FFFF00000100007F:C002 01 0:0 00:0 0 65534 0 4713\n\
         4: 00000000000000000000000001000000:2BCB 00000000000000000000000001000000:C003 01 0:0 00:0 0 65534 0 4714\n"
    );
    let of = |row: TableRow<'_>| {
        let by_ipv4 = row.remote.ip().to_canonical().is_ipv4();
        (row.local.port(), row.remote.port(), row.listens(), by_ipv4, row.inode)
    };
    let found: Vec<(u16, u16, bool, bool, u64)> = table_rows(&text).map(of).collect();
    let expect = [
        (11211, 0, true, true, 4711),
        (11211, 0xC001, false, true, 4712),
        (11211, 0xC002, false, true, 4713),
        (11211, 0xC003, false, false, 4714),
    ];
    assert_eq!(found, expect);
}

/// A machine whose processes are `(PID, name, inodes)`.
fn machine(processes: &[(u32, &str, &[u64])]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let net = root.path().join("proc/net");
    fs::create_dir_all(&net).unwrap();
    for (name, rows) in [("tcp", TCP), ("tcp6", TCP6), ("udp", UDP)] {
        fs::write(net.join(name), format!("{HEAD}{rows}")).unwrap();
    }
    fs::write(net.join("unix"), UNIX).unwrap();
    for (pid, name, inodes) in processes {
        let fd = root.path().join(format!("proc/{pid}/fd"));
        let task = root.path().join(format!("proc/{pid}/task/{pid}"));
        fs::create_dir_all(&fd).unwrap();
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("comm"), format!("{name}\n")).unwrap();
        symlink("/dev/null", fd.join("0")).unwrap();
        for (n, inode) in inodes.iter().enumerate() {
            symlink(format!("socket:[{inode}]"), fd.join((n + 3).to_string())).unwrap();
        }
    }
    root
}

fn tcp(address: &str) -> Endpoint<'static> {
    Endpoint::Tcp(address.parse().unwrap())
}

#[test]
fn only_the_listeners_at_the_start_of_a_table_are_read() {
    let root = machine(&[]);
    let [v4, v6] = tcp_listeners(&root.path().join("proc/net"));
    assert_eq!((v4.lines().count(), v6.lines().count()), (8, 5), "{v4}{v6}");
    assert!(v4.lines().all(|row| !row.contains("C002")), "{v4}");
    assert_eq!(tcp_listeners(root.path()), [const { String::new() }; 2]);
}

#[test]
#[cfg(target_endian = "little")]
fn finds_the_sockets_that_get_what_comes_to_an_address() {
    let root = machine(&[]);
    let check = |endpoint: Endpoint<'_>, expect: &[u64]| {
        let found = Listening::at(root.path(), endpoint);
        assert_eq!(found.sockets.keys().copied().collect::<Vec<_>>(), expect, "{endpoint:?}");
        assert_eq!((found.unheld, found.processes.len()), (expect.len(), 0));
    };
    // A socket on the address itself comes before one on all addresses; one on all addresses of the family before one
    // on both families.
    check(tcp("127.0.0.1:11211"), &[11]);
    check(tcp("127.0.0.2:11211"), &[14]);
    check(tcp("127.0.0.9:11211"), &[15]);
    check(tcp("0.0.0.0:11211"), &[11]);
    check(tcp("[::1]:11211"), &[21]);
    check(tcp("127.0.0.1:11212"), &[13]);
    check(tcp("[::1]:11212"), &[22]);
    // An IPv4 socket receives no IPv6; an IPv6 socket on all addresses receives IPv4.
    check(tcp("[::2]:11212"), &[]);
    check(tcp("127.0.0.1:11213"), &[23]);
    check(tcp("127.0.0.1:11214"), &[24]);
    check(tcp("127.0.0.1:80"), &[16, 17]);
    check(tcp("127.0.0.1:81"), &[]);
    check(Endpoint::Udp("127.0.0.1:11211".parse().unwrap()), &[31]);
    check(Endpoint::Unix(Path::new("/run/a b.sock")), &[41]);
    check(Endpoint::Unix(Path::new("/run/a")), &[]);
}

#[test]
fn a_name_of_any_bytes_hides_no_other_socket() {
    let root = machine(&[]);
    let table = root.path().join("proc/net/unix");
    // An abstract name may hold any bytes.
    let other = &b"0000000000000000: 00000002 00000000 00010000 0001 01 40 @\xff\x80\n"[..];
    let (head, rows) = UNIX.split_once('\n').unwrap();
    fs::write(&table, [head.as_bytes(), b"\n", other, rows.as_bytes()].concat()).unwrap();
    let found = Listening::at(root.path(), Endpoint::Unix(Path::new("/run/a b.sock")));
    assert_eq!(found.sockets.into_keys().collect::<Vec<_>>(), [41]);
}

#[test]
#[cfg(target_endian = "little")]
fn finds_all_processes_that_hold_them() {
    let check = |processes: &[(u32, &str, &[u64])], address: &str, pids: &[u32], unheld: usize| {
        let root = machine(processes);
        let found = Listening::at(root.path(), tcp(address));
        assert_eq!((found.pids(), found.unheld), (pids.to_vec(), unheld), "{found:?}");
    };
    let memcached: &[(u32, &str, &[u64])] = &[(7, "memcached", &[11, 12]), (8, "other", &[12])];
    check(memcached, "127.0.0.1:11211", &[7], 0);
    // A master and its workers, which share one socket or have one each.
    check(
        &[(7, "nginx", &[16, 17]), (8, "nginx", &[16]), (9, "nginx", &[17])],
        "127.0.0.1:80",
        &[7, 8, 9],
        0,
    );
    check(&[(7, "nginx", &[16])], "127.0.0.1:80", &[7], 1);
    check(&[(1, "systemd", &[11]), (9, "cache", &[11])], "127.0.0.1:11211", &[9], 0);
    check(&[(1, "systemd", &[11])], "127.0.0.1:11211", &[1], 0);
    // Another account's.
    check(&[(7, "memcached", &[])], "127.0.0.1:11211", &[], 1);
}

#[test]
#[cfg(target_endian = "little")]
fn a_proxy_is_told_by_its_name() {
    let check = |name: &str, expect: bool| {
        let root = machine(&[(7, name, &[11])]);
        let found = Listening::at(root.path(), tcp("127.0.0.1:11211"));
        assert_eq!(found.proxy().is_some(), expect, "{name}");
        assert_eq!(found.sockets[&11], Some(112));
    };
    check("docker-proxy", true);
    check("rootlessport", true);
    check("memcached", false);
    check("haproxy", false);
}

#[test]
fn finds_this_process() {
    let me = std::process::id();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let found = Listening::at(Path::new("/"), Endpoint::Tcp(listener.local_addr().unwrap()));
    // A child that another test has forked just now holds a copy until it executes its program.
    assert!(found.pids().contains(&me) && found.unheld == 0, "{found:?}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _listener = UnixListener::bind(&path).unwrap();
    assert!(Listening::at(Path::new("/"), Endpoint::Unix(&path)).pids().contains(&me));
    assert!(is_local("127.0.0.1".parse().unwrap()) && !is_local("192.0.2.1".parse().unwrap()));
}

proptest! {
    #[test]
    fn survives_any_table(text: String, port: u16) {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let _ = table::rows(&text, "0A", address).count();
    }

    #[test]
    fn survives_a_damaged_table(at in 0..TCP.len(), byte in 32u8..127) {
        let mut text = TCP.as_bytes().to_vec();
        text[at] = byte;
        let text = String::from_utf8(text).unwrap();
        let found = table::rows(&text, "0A", SocketAddr::from(([127, 0, 0, 1], 11211)));
        prop_assert!(found.count() <= 4);
    }
}
