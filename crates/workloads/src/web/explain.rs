//! The chapter on web servers: the measured requests, the measured times, and the counted answers.

use spec::Chapter;

/// External sources: RFC 9110 and 9112; IISWC'17, Chen et al., Workload characterization of interactive cloud services on big and small
/// server platforms, §III-B and §III-C.
const TEXT: &str = "\
From when to when

  A schedule says when each request is to leave, and does so whatever the server does (an open loop), as many
  users do who do not know of each other. A slow answer delays no other request's due time.

  intended    when the schedule says that the request is to leave: the clock starts here
  eligible    when its connection could take it, which is later where that is busy, or has to be established
  sent        before the system call that carries the request's first byte
  first byte  when the first byte of the answer was there to be read
  done        when the answer's last byte had come: the clock stops here

  response time    done - intended. All percentiles, and the QoS target, are of this
  connection wait  eligible - intended: the server's doing, and part of the response time
  generator lag    sent - eligible: the generator's fault; a trial with too much of it is invalid
  service time     done - sent: what wrk and ab call latency, which leaves out what waited behind a slow answer

  The last byte is the one that Content-Length says, that of the last chunk, or the last before the server closes
  (RFC 9112, section 6.3). Bodies are read whole and not kept. What a browser does besides is not measured: looking
  up names, rendering, and what a page brings with it; the TLS handshake is where a connection is established for it.

Connections: keep-alive, or one for each request

  usual                          all of --connections are established before the load and stay: no request waits for a
                                 handshake, as behind a proxy or in a browser that has been there before
  --requests-per-connection N    a connection ends after N requests, and the next one that is due on it waits until another
                                 stands. That wait, TCP's handshake and TLS's, is connection wait
  --requests-per-connection 1    a connection for each request: every user comes for the first time
  a server that closes           is followed in the same way; closed_by_server says how often (nginx: keepalive_requests)

  --connections bounds how many requests the server has at once (--depth 1); those beyond wait, and their wait counts.

  --http 2           each request has a stream of its own (RFC 9113): answers come in any order, a slow one delays none
                     behind it, and a time-out ends one request only. --depth N: streams at once on a connection; a server
                     that takes fewer makes the others wait (connections_with_fewer_streams)

What counts as success

  A status of 2xx, and for GET what --verify asks of the body:

  length      the default: as many bytes as the file has, where that is known (--files, --file-set, --urls with lengths)
  checksum    and the same content (--files, --file-set)
  none        the status alone

  Everything else is an error, counted by kind: status_404, wrong_length, wrong_content, answer_cut_off, connection_closed,
  no_answer_in_time (--timeout). A redirect is not followed and is not a success; a target that redirects all requests is
  refused before the load, with the URL to use, unless --verify none is given. Errors have no response time; a time-out
  enters at its age. Too many of either make the trial invalid: fast failures make no server fast.

The target

  --qos 'p99<20ms'   what IISWC'17 holds NGINX to (section III-B): 100 000 files of 4 KB, on 7 workers with open_file_cache,
                     GETs with Poisson arrivals and Zipf popularity. It is met up to about 80 % of the maximum
                     throughput there (Fig. 1): 420 krps on the Xeon, 84 krps on the ThunderX
  --qos 'p99<1ms'    the default here, as for caches

  taillight load web --target nginx --files 100000x4KiB --popularity zipf:0.99 --rate 5k --qos 'p99<20ms'
  taillight study run web-latency-vs-load --quick

  Popularities, sizes of files and arrivals: taillight explain cache. All options: docs/reference/web.md.
";

/// The manual of the workload.
pub fn chapter() -> Chapter {
    Chapter { text: TEXT.into(), sections: vec![] }
}
