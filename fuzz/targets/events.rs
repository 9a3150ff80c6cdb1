//! The reader of event streams: the split of the bytes makes no difference, the output is bounded, and a resumed stream
//! knows its position.
#![no_main]

use docent_dial::events::{EventReader, EventTooLong, ServerEvent};
use libfuzzer_sys::fuzz_target;

const LIMIT: usize = 64;

fn read(bytes: &[u8], size: usize) -> Result<(Vec<ServerEvent>, EventReader), EventTooLong> {
    let mut reader = EventReader::new(LIMIT);
    let mut events = Vec::new();
    for piece in bytes.chunks(size) {
        reader.push(piece, &mut events)?;
    }
    Ok((events, reader))
}

fuzz_target!(|input: &[u8]| {
    let Some((first, rest)) = input.split_first() else { return };
    let whole = read(rest, rest.len().max(1));
    let pieces = read(rest, usize::from(*first) + 1);
    assert_eq!(whole.is_err(), pieces.is_err());
    let (Ok((events, mut reader)), Ok((others, other))) = (whole, pieces) else { return };
    assert_eq!(events, others);
    assert_eq!((reader.last_id(), reader.retry_ms()), (other.last_id(), other.retry_ms()));
    for event in events {
        assert!(!event.data.is_empty());
        // Each invalid byte may become a three-byte replacement character.
        assert!(event.data.len() <= LIMIT * 3);
    }
    let known = reader.last_id().map(str::to_owned);
    reader.restart();
    let mut more = Vec::new();
    reader.push(b"data: more\n\n", &mut more).expect("a short event");
    assert_eq!(more.len(), 1);
    assert_eq!(reader.last_id().map(str::to_owned), known);
});
