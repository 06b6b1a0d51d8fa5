//! Generates the client and the server of the control channel's single RPC.
//!
//! The messages are Rust structs (`src/message.rs`), so neither `protoc` nor a compiler for its language is needed.

use tonic_build::manual::{Builder, Method, Service};

fn main() {
    let session = Method::builder()
        .name("session")
        .route_name("Session")
        .input_type("crate::message::ToAgent")
        .output_type("crate::message::FromAgent")
        .codec_path("tonic_prost::ProstCodec")
        .client_streaming()
        .server_streaming()
        .build();
    let agent = Service::builder().name("Agent").package("taillight.agent").method(session).build();
    Builder::new().compile(&[agent]);
}
