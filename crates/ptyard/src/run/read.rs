//! `ptyard read`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_core::ErrorCode;
use ptyard_core::utf8::Decoder;

use super::Place;
use crate::args::ReadArgs;
use crate::failure::{Failure, status};
use crate::print::{self, Format};

/// Bytes of one request, and of the one document of `--json` unless `--max-bytes` says otherwise.
const PAGE_BYTES: u64 = 1 << 20;

pub(super) async fn read(place: &Place, args: &ReadArgs) -> Result<u8, Failure> {
    let id = &args.at.id;
    let mut client = place.client().await?;
    if place.format == Format::Json {
        print::json(&client.read(id, args.since, args.max_bytes.unwrap_or(PAGE_BYTES)).await?)?;
        return Ok(status::DONE);
    }
    // What is printed meanwhile is not followed, or this would never end.
    let end = match args.max_bytes {
        Some(_) => u64::MAX,
        None => client.info(id).await?.log.end,
    };
    let mut left = args.max_bytes.unwrap_or(u64::MAX);
    let mut since = args.since;
    let mut decoder = Decoder::new();
    while left > 0 && since.is_none_or(|since| since < end) {
        let up_to_end = since.map_or(u64::MAX, |since| end - since);
        let page = client.read(id, since, left.min(PAGE_BYTES).min(up_to_end)).await?;
        if page.evicted > 0 {
            print::note(&format!("{} bytes before offset {} were evicted", page.evicted, page.from));
        }
        let data = STANDARD
            .decode(&page.data_base64)
            .map_err(|error| Failure::new(ErrorCode::Internal, format!("output is not base64: {error}")))?;
        if data.is_empty() {
            break;
        }
        left = left.saturating_sub(data.len() as u64);
        since = Some(page.next);
        if args.raw {
            print::bytes(&data)?;
        } else {
            // A character cut by the end of a page waits for the next one.
            let mut text = String::new();
            decoder.feed(&data, &mut text);
            print::bytes(text.as_bytes())?;
        }
    }
    let mut text = String::new();
    decoder.finish(&mut text);
    print::bytes(text.as_bytes())?;
    Ok(status::DONE)
}
