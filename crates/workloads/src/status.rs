//! The kinds of failure of HTTP answers.

/// The kind of failure of an answer that the server did not bring to its end.
pub const CUT_OFF: &str = "answer cut off";

/// The kind under which an answer that is not a success is counted: a text for each status, made without allocating, as
/// every answer of a load may be one.
pub(crate) fn kind(status: u16) -> &'static str {
    macro_rules! kinds {
        ($($status:literal)+) => {
            match status {
                $($status => concat!("status ", $status),)+
                100..200 => "status 1xx",
                // A success, but not the expected status.
                200..300 => "other status 2xx",
                300..400 => "other status 3xx",
                400..500 => "other status 4xx",
                500..600 => "other status 5xx",
                _ => "status over 599",
            }
        };
    }
    // The registry of RFC 9110, and those that nginx and Cloudflare use in addition.
    kinds!(101 300 301 302 303 304 305 307 308 400 401 402 403 404 405 406 407 408 409 410 411 412 413 414 415 416 417
           418 421 422 423 424 425 426 428 429 431 444 451 494 495 496 497 499 500 501 502 503 504 505 506 507 508 510
           511 520 521 522 523 524 525 526 527 530)
}

/// Whether a browser requests the `Location` of an answer with this status.
pub(crate) fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Whether a kind of failure is that of whole answers whose status is not a success.
pub fn is_status(kind: &str) -> bool {
    kind.contains("status ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_kind() {
        let check = |status: u16, expect: &str| assert_eq!(kind(status), expect);
        check(404, "status 404");
        check(502, "status 502");
        check(419, "other status 4xx");
        // A site's page that must come with status 403.
        check(200, "other status 2xx");
        check(600, "status over 599");
        (100..1000).for_each(|status| assert!(is_status(kind(status))));
        assert!(!is_status(CUT_OFF));
    }
}
