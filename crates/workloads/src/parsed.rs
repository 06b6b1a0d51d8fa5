use openloop::{Closed, Fault, Parsed};
use proto_http::{Defect, Response, ResponseParse};

use crate::status::CUT_OFF;

/// The parser's result for the engine. `whole` judges a complete answer.
#[inline]
pub(crate) fn parsed<J>(parse: ResponseParse, whole: impl FnOnce(Response) -> Closed<J>) -> Parsed<J> {
    match parse {
        ResponseParse::NeedMore { consumed: 0 } => Parsed::Partial,
        ResponseParse::NeedMore { consumed } => Parsed::Used(consumed),
        ResponseParse::Malformed(defect) => Parsed::Garbage(defect.to_string()),
        ResponseParse::Done { consumed, response } => {
            let (outcome, then) = whole(response);
            Parsed::Done { used: consumed, outcome, then }
        }
    }
}

/// The server has closed the connection within the answer to the request that `about` describes.
#[cold]
pub(crate) fn cut_off(about: &str, defect: Defect) -> Fault {
    Fault::new(CUT_OFF, format!("{about}: {defect}"))
}
