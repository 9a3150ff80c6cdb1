//! The envelope decoder and the message order of a conversation, in every dialect.
#![no_main]

use docent_wire::{
    Dialect, GateDecision, HandshakePolicy, ProtocolState, WireFrame, read, shape_message,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((first, frame)) = input.split_first() else { return };
    let verdicts = match read(frame) {
        WireFrame::Empty => return,
        WireFrame::One(verdict) => vec![verdict],
        WireFrame::Batch(verdicts) => verdicts,
    };
    for dialect in Dialect::ALL {
        let handshake =
            if first & 1 == 0 { HandshakePolicy::Required } else { HandshakePolicy::Optional };
        let mut talk = ProtocolState::new(handshake, first & 2 != 0);
        if first & 4 != 0 {
            talk.opened(dialect);
        }
        for verdict in &verdicts {
            match verdict.as_ref().map(|envelope| talk.gate(envelope)) {
                Ok(GateDecision::Refuse(refusal)) => {
                    assert!(refusal.id.is_some() && refusal.code < 0);
                }
                Ok(GateDecision::Open(asked, _)) => assert_ne!(asked, Dialect::V2026_07_28),
                Ok(_) => {}
                Err(refusal) => assert!(refusal.to_value().is_object()),
            }
        }
        if let Ok(mut message) = serde_json::from_slice(frame) {
            shape_message(dialect, &mut message);
        }
    }
});
