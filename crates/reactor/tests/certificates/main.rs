//! Certificates and keys that are accepted, and the messages for others, against OpenSSL's server and client. curl is the reference.

mod desk;

use std::process::Command;

use desk::{Desk, HERE, P256, P521, Server, ask, has, s_client, serve_once};
use reactor::tls::{Clients, Identity, Oldest, Trust, client_config, server_config};

/// The hint for keys that only OpenSSL verifies.
const NO_SUCH_KEY: &str = "verifies RSA (not RSA-PSS), ECDSA and Ed25519 keys";

/// Whether curl takes the server, if curl is here. Exit codes: 35, the handshake failed; 60, the certificate is refused.
fn curl_takes(desk: &Desk, ca: Option<&str>, name: &str, port: u16) -> Option<bool> {
    let mut command = Command::new("curl");
    command.args(["-sS", "-m", "60", "-o", "/dev/null", "--noproxy", "*"]);
    command.arg("--connect-to").arg(format!("::127.0.0.1:{port}"));
    match ca {
        Some(ca) => command.arg("--cacert").arg(desk.file(&format!("{ca}.pem"))),
        None => command.arg("-k"),
    };
    let output = command.arg(format!("https://{name}:{port}/")).output().ok()?;
    match output.status.code() {
        Some(0) => Some(true),
        Some(35 | 60) => Some(false),
        _ => panic!("curl: {output:?}"),
    }
}

#[test]
fn servers_are_taken_as_by_curl() {
    if !has("openssl") {
        return;
    }
    let desk = Desk::new();
    let checks = |server: &str, more: &str, rows: &[(&str, &str, &str)]| {
        let running = Server::start(&desk, server, more);
        let insecure = client_config(Trust::AnyCertificateInsecurely, None).unwrap();
        let row = |ca: &str| format!("{server} by {ca}");
        assert_eq!(
            ask(&insecure, "elsewhere", running.1).as_deref(),
            Ok("HTTP/1.0 200 ok"),
            "{}",
            row("insecure")
        );
        assert_ne!(curl_takes(&desk, None, "elsewhere", running.1), Some(false), "{}", row("insecure"));
        for (ca, name, expect) in rows {
            let file = desk.file(&format!("{ca}.pem"));
            let found = ask(&client_config(Trust::Authorities(&file), None).unwrap(), name, running.1);
            match &found {
                Ok(line) => assert_eq!((line.as_str(), *expect), ("HTTP/1.0 200 ok", ""), "{}", row(ca)),
                Err(why) => {
                    assert!(!expect.is_empty() && why.contains(expect), "{}: {why}", row(ca));
                    assert!(!why.contains("(\"") && !why.contains("Error"), "{why}");
                }
            }
            let reference = curl_takes(&desk, Some(ca), name, running.1);
            let ours = *expect == NO_SUCH_KEY;
            assert!(
                ours || reference.is_none_or(|taken| taken == found.is_ok()),
                "{}: curl says {reference:?}",
                row(ca)
            );
        }
    };
    let check = |server: &str, rows: &[(&str, &str, &str)]| checks(server, "", rows);
    let as_own = |server: &str| {
        check(server, &[(server, "localhost", ""), ("ca", "localhost", "was issued by itself ('localhost')")])
    };

    // As `openssl req -x509` makes it, with keys of each kind.
    for (name, key) in
        [("p256", P256), ("rsa", "-newkey rsa:2048"), ("ed25519", "-newkey ed25519"), ("p521", P521)]
    {
        desk.own(name, key, HERE);
        as_own(name);
    }
    check(
        "p256",
        &[
            ("p256", "127.0.0.1", ""),
            ("p256", "elsewhere", "is not for 'elsewhere' but for localhost, 127.0.0.1;"),
        ],
    );
    desk.own("sha1", "-sha1 -newkey rsa:2048", HERE);
    as_own("sha1");
    desk.own("common", P256, "keyUsage=digitalSignature");
    check(
        "common",
        &[("common", "localhost", ""), ("common", "127.0.0.1", "is not for '127.0.0.1' but for localhost")],
    );
    // Alternative names of persons and services do not name servers.
    desk.own("mail", P256, "subjectAltName=email:a@b.example,URI:spiffe://b.example/c");
    check(
        "mail",
        &[("mail", "localhost", ""), ("mail", "127.0.0.1", "is not for '127.0.0.1' but for localhost")],
    );
    for (name, key) in [("ed448", "-newkey ed448"), ("pss", "-newkey rsa-pss -pkeyopt rsa_keygen_bits:2048")]
    {
        desk.own(name, key, HERE);
        check(name, &[(name, "localhost", NO_SUCH_KEY)]);
    }

    // As an authority issues it.
    desk.issued("plain", "ca", HERE, "-days 30");
    check(
        "plain",
        &[
            ("ca", "localhost", ""),
            ("plain", "localhost", ""),
            ("p256", "localhost", "was issued by 'authority'"),
        ],
    );
    desk.issued("old", "ca", "", "-days 30");
    check("old", &[("ca", "localhost", ""), ("old", "localhost", ""), ("ca", "127.0.0.1", "is not for")]);
    desk.issued("over", "ca", &format!("basicConstraints=critical,CA:TRUE;{HERE}"), "-days 30");
    check("over", &[("ca", "localhost", ""), ("p256", "localhost", "was issued by 'authority'")]);
    desk.issued("client", "ca", &format!("extendedKeyUsage=clientAuth;{HERE}"), "-days 30");
    check(
        "client",
        &[("ca", "localhost", "extended key usage"), ("client", "localhost", "extended key usage")],
    );
    desk.issued("other", "ca", "subjectAltName=DNS:*.web.example,IP:10.0.0.1", "-days 30");
    let not = "is not for 'localhost' but for *.web.example, 10.0.0.1; give --tls-name NAME or, on a test bed, --tls-insecure";
    check(
        "other",
        &[("ca", "localhost", not), ("ca", "127.0.0.1", "is not for"), ("ca", "a.web.example", "")],
    );
    desk.issued("expired", "ca", HERE, "-days -1");
    check(
        "expired",
        &[("ca", "localhost", "expired 24 h ago"), ("expired", "localhost", "expired 24 h ago")],
    );
    desk.openssl(&format!("req {P256} -nodes -keyout self.key -out self.csr -subj /CN=localhost"));
    desk.openssl("x509 -req -in self.csr -signkey self.key -days 30 -out self.pem");
    as_own("self");
    desk.openssl("x509 -req -in self.csr -signkey self.key -days -1 -out self.pem");
    check("self", &[("self", "localhost", "expired 24 h ago")]);

    // Too weak for OpenSSL's usual level of security, which a server may lower.
    let weak = "-cipher DEFAULT:@SECLEVEL=0";
    desk.own("rsa1024", "-newkey rsa:1024", HERE);
    checks(
        "rsa1024",
        weak,
        &[(
            "rsa1024",
            "localhost",
            "has an RSA key of 1024 bits, and less than 2048 are not verified; renew it with another key, or on",
        )],
    );
    desk.issued("hashed", "ca", HERE, "-days 30 -sha1");
    checks("hashed", weak, &[("ca", "localhost", "is signed by SHA-1"), ("hashed", "localhost", "")]);

    // The key of a server's certificate, which is trusted for itself, signs no others.
    desk.issued("forged", "plain", HERE, "-days 30");
    check(
        "forged",
        &[
            ("plain", "localhost", "is not that of an authority (basicConstraints)"),
            ("forged", "localhost", ""),
        ],
    );

    // A chain.
    desk.issued("middle", "ca", "basicConstraints=critical,CA:TRUE", "-days 30");
    desk.openssl("req -new -key middle.key -subj /CN=middle -out middle.csr");
    desk.sign("middle", "ca", "basicConstraints=critical,CA:TRUE", "-days 30");
    desk.issued("below", "middle", HERE, "-days 30");
    checks("below", "-cert_chain middle.pem", &[("ca", "localhost", ""), ("middle", "localhost", "")]);
    let alone =
        "was issued by 'middle', which is not trusted, and whose own certificate the server does not send";
    check("below", &[("ca", "localhost", alone), ("middle", "localhost", ""), ("below", "localhost", "")]);
    // Another authority of the same name.
    std::fs::rename(desk.file("ca.pem"), desk.file("first.pem")).unwrap();
    desk.own("ca", P256, "basicConstraints=critical,CA:TRUE");
    check("plain", &[("ca", "localhost", "another authority of the same name"), ("first", "localhost", "")]);
}

#[test]
fn a_certificate_of_the_future_is_refused() {
    if !has("openssl") {
        return;
    }
    let desk = Desk::new();
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2100, 1, 1);
    desk.write("future.pem", params.self_signed(&key).unwrap().pem());
    desk.write("future.key", key.serialize_pem());
    let server = Server::start(&desk, "future", "");
    let file = desk.file("future.pem");
    let why =
        ask(&client_config(Trust::Authorities(&file), None).unwrap(), "localhost", server.1).unwrap_err();
    assert!(why.contains("days only; compare the clocks of both machines"), "{why}");
}

#[test]
fn versions_and_protocols_are_told_apart() {
    if !has("openssl") {
        return;
    }
    let desk = Desk::new();
    desk.own("here", P256, HERE);
    let client = client_config(Trust::AnyCertificateInsecurely, None).unwrap();
    let check = |more: &str, says: &str| {
        let server = Server::start(&desk, "here", more);
        let why = ask(&client, "localhost", server.1).unwrap_err();
        assert!(why.contains(says), "{more}: {why}");
    };
    check("-tls1_1 -cipher DEFAULT:@SECLEVEL=0", "no version of TLS is in common");
    check("-tls1_2 -cipher ECDHE-ECDSA-AES256-SHA", "this program has AES-GCM and ChaCha20 with ECDHE");
    check(
        "-tls1_3 -Verify 1",
        "it takes only clients with a certificate (alert 'Certificate required'); give one with --tls-cert FILE",
    );

    for (greeting, says) in
        [("HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak TLS"), ("ERROR\r\n", "does not speak TLS")]
    {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let plain = std::thread::spawn(move || {
            let (mut socket, _) = listener.accept().unwrap();
            std::io::Write::write_all(&mut socket, greeting.as_bytes()).unwrap();
            let _ = std::io::Read::read(&mut socket, &mut [0; 4096]);
            socket
        });
        let why = ask(&client, "localhost", port).unwrap_err();
        assert!(why.contains(says) && why.contains("leave out --tls-ca"), "{why}");
        drop(plain.join());
    }
}

#[test]
fn keys_of_servers_are_taken_in_every_form() {
    if !has("openssl") {
        return;
    }
    let desk = Desk::new();
    let serves = |certificate: &str, key: &str, ca: &str| {
        let (certificates, key) = (desk.file(certificate), desk.file(key));
        let identity = Identity { certificates: &certificates, key: &key };
        let config = server_config(identity, &Clients::Any, Oldest::default());
        let (port, server) = serve_once(config.unwrap_or_else(|error| panic!("{error}")));
        let said = s_client(&desk, port, ca, None);
        assert!(said.contains("HTTP/1.0 200 OK"), "{certificate}, {}: {said}", key.display());
        server.join().unwrap().unwrap();
    };
    for (name, key) in [
        ("p256", P256),
        ("p384", "-newkey ec -pkeyopt ec_paramgen_curve:P-384"),
        ("p521", P521),
        ("rsa", "-newkey rsa:2048"),
        ("ed25519", "-newkey ed25519"),
    ] {
        desk.own(name, key, HERE);
        serves(&format!("{name}.pem"), &format!("{name}.key"), name);
        if name != "ed25519" {
            // PKCS #1 and SEC 1.
            desk.openssl(&format!("pkey -in {name}.key -traditional -out {name}.old"));
            serves(&format!("{name}.pem"), &format!("{name}.old"), name);
        }
        let both =
            format!("a note\r\n{}{}", desk.read(&format!("{name}.key")), desk.read(&format!("{name}.pem")));
        desk.write("both", both.replace('\n', "\r\n"));
        serves("both", "both", name);
    }
    for name in ["p256", "p384", "p521"] {
        // Without the public part, as Java writes them.
        desk.openssl(&format!("ec -in {name}.key -no_public -out {name}.secret"));
        serves(&format!("{name}.pem"), &format!("{name}.secret"), name);
        desk.openssl(&format!("pkey -in {name}.key -ec_conv_form compressed -out {name}.compressed"));
        serves(&format!("{name}.pem"), &format!("{name}.compressed"), name);
    }
    desk.openssl("ecparam -name secp521r1 -genkey -out p521.key");
    desk.openssl("req -x509 -new -key p521.key -days 30 -subj /CN=localhost -addext subjectAltName=DNS:localhost -out p521.pem");
    serves("p521.pem", "p521.key", "p521");
    desk.issued("old", "ca", "", "-days 30");
    serves("old.pem", "old.key", "ca");
    desk.write("text.pem", desk.openssl("x509 -in p256.pem -text"));
    serves("text.pem", "p256.key", "p256");
    desk.openssl("x509 -in p256.pem -trustout -out trusted.pem");
    serves("trusted.pem", "p256.key", "p256");
}

#[test]
fn files_that_cannot_be_used_are_told_with_what_to_do() {
    if !has("openssl") {
        return;
    }
    let desk = Desk::new();
    desk.own("p256", P256, HERE);
    desk.own("p521", P521, HERE);
    let server = |certificates: &str, key: &str, says: &str| {
        let (certificates, key) = (desk.file(certificates), desk.file(key));
        let identity = Identity { certificates: &certificates, key: &key };
        let error = server_config(identity, &Clients::Any, Oldest::default()).unwrap_err().to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    };
    desk.openssl("pkey -in p256.key -aes128 -passout pass:x -out encrypted.key");
    server("p256.pem", "encrypted.key", "has an encrypted private key; decrypt it: openssl pkey -in ");
    desk.openssl("ec -in p256.key -aes128 -passout pass:x -out encrypted.key");
    server("p256.pem", "encrypted.key", "has an encrypted private key; decrypt it: openssl pkey -in ");
    server("p256.pem", "p521.key", "is not that of the first certificate in ");
    server("p521.pem", "p256.key", "is not that of the first certificate in ");
    desk.write("backwards.pem", desk.read("ca.pem") + &desk.read("p256.pem"));
    server("backwards.pem", "p256.key", "which must be the own one, followed by its issuers");
    server("p256.pem", "p256.pem", "the file has none, but CERTIFICATE");
    server("p256.key", "p256.key", "the file has none, but PRIVATE KEY");
    server("p256.pem", "absent", "cannot read ");
    for (key, make) in [
        ("rsa1024.key", "genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:1024 -out rsa1024.key"),
        ("ed448.key", "genpkey -algorithm ed448 -out ed448.key"),
        ("k1.key", "genpkey -algorithm ec -pkeyopt ec_paramgen_curve:secp256k1 -out k1.key"),
    ] {
        desk.openssl(make);
        server(
            "p256.pem",
            key,
            "it must be RSA of 2048 to 4096 bits, ECDSA on P-256, P-384 or P-521, or Ed25519",
        );
    }
    desk.openssl("pkey -in p256.key -outform DER -out der.key");
    server("p256.pem", "der.key", "the file is not PEM; convert it: openssl pkey -inform DER -in ");

    let authority = |bytes: Vec<u8>, says: &str| {
        desk.write("given.pem", bytes);
        let file = desk.file("given.pem");
        let found =
            client_config(Trust::Authorities(&file), None).map(drop).map_err(|error| error.to_string());
        match found {
            Ok(()) => assert_eq!(says, ""),
            Err(error) => {
                assert!(!says.is_empty() && error.contains(says) && !error.contains('\n'), "{error}")
            }
        }
    };
    let pem = desk.read("ca.pem");
    let half = pem.lines().take(4).collect::<Vec<_>>().join("\n");
    let block = |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
    authority(Vec::new(), "the file is empty");
    authority(b"hello\n".to_vec(), "the file is not PEM");
    authority(pem.replace(' ', "  ").into(), "its BEGIN line is damaged");
    authority(pem.replace('\n', " ").into(), "it has no END line of its own");
    authority(desk.read("ca.key").into(), "the file has none, but PRIVATE KEY");
    authority(desk.openssl("x509 -in ca.pem -outform DER"), "convert it: openssl x509 -inform DER -in ");
    authority(desk.openssl("crl2pkcs7 -nocrl -certfile ca.pem"), "the file has none, but PKCS7");
    authority(half.clone().into(), "it has no END line of its own, and may be cut off");
    authority((half + "\n" + &pem).into(), "certificate 1 in it is not a certificate");
    authority((pem.clone() + &block("!!!!")).into(), "cannot read a certificate (number 2)");
    authority((pem.clone() + &block("AAAA")).into(), "certificate 2 in it is not a certificate");
    for taken in [
        format!("\u{feff}{pem}"),
        pem.replace('\n', "\r\n"),
        pem.replace("CERTIFICATE", "X509 CERTIFICATE"),
        format!("# a note: -----BEGIN\n{pem}\n\nanother\n{pem}"),
    ] {
        authority(taken.into(), "");
    }
    authority(desk.openssl("x509 -in ca.pem -text -trustout"), "");
}

#[test]
fn clients_show_what_openssl_servers_take_and_the_other_way_round() {
    if !has("openssl") {
        return;
    }
    let desk = Desk::new();
    desk.own("here", P256, HERE);
    desk.own("p521", P521, HERE);
    desk.issued("old", "ca", "", "-days 30");
    desk.issued("server", "ca", "extendedKeyUsage=serverAuth", "-days 30");
    desk.issued("expired", "ca", HERE, "-days -1");
    let (certificates, key) = (desk.file("here.pem"), desk.file("here.key"));
    let ours = |own: Option<&str>, ca: &str, says: &str| {
        let clients = Clients::Required(desk.file(&format!("{ca}.pem")));
        let identity = Identity { certificates: &certificates, key: &key };
        let config = server_config(identity, &clients, Oldest::default()).unwrap();
        let (port, server) = serve_once(config);
        let said = s_client(&desk, port, "here", own);
        match server.join().unwrap() {
            Ok(()) => assert!(says.is_empty() && said.contains("HTTP/1.0 200 OK"), "{own:?}: {said}"),
            Err(why) => assert!(!says.is_empty() && why.contains(says), "{own:?}: {why}"),
        }
    };
    let check = |own: Option<&str>, ca: &str, says: &str| {
        ours(own, ca, says);
        // OpenSSL's own server, to which a client of ours shows the same.
        let Some(own) = own else { return };
        let (chain, key) = (desk.file(&format!("{own}.pem")), desk.file(&format!("{own}.key")));
        let identity = Identity { certificates: &chain, key: &key };
        let config = client_config(Trust::Authorities(&certificates), Some(identity)).unwrap();
        let server =
            Server::start(&desk, "here", &format!("-Verify 3 -verify_return_error -CAfile {ca}.pem"));
        let found = ask(&config, "localhost", server.1);
        assert_eq!(found.is_ok(), says.is_empty(), "{own}: {found:?}");
    };
    check(Some("p521"), "p521", "");
    check(Some("here"), "here", "");
    check(Some("old"), "ca", "");
    check(None, "ca", "the client showed no certificate, and has to");
    check(Some("here"), "ca", "the client's certificate was not issued by a trusted authority");
    check(Some("expired"), "ca", "the client's certificate expired 24 h ago");
    check(Some("server"), "ca", "may not be a client's (clientAuth) by its extended key usage");
    // A client's certificate among the trusted ones is trusted for itself only.
    desk.issued("leaf", "ca", HERE, "-days 30");
    desk.openssl("x509 -req -in leaf.csr -signkey leaf.key -days 30 -out alone.pem -extfile extensions");
    std::fs::copy(desk.file("leaf.key"), desk.file("alone.key")).unwrap();
    check(Some("alone"), "alone", "");
    desk.issued("forged", "alone", HERE, "-days 30");
    check(Some("forged"), "alone", "the client's certificate was not issued by a trusted authority");
    desk.issued("forged", "leaf", HERE, "-days 30");
    check(Some("forged"), "leaf", "the client's certificate was not issued by a trusted authority");
    ours(Some("leaf"), "leaf", "");
}
