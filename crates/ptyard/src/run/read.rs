//! `ptyard read`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_core::ErrorCode;

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
    let mut text = LossyText::default();
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
        if args.raw { print::bytes(&data)? } else { print::bytes(text.push(&data).as_bytes())? }
    }
    print::bytes(text.finish().as_bytes())?;
    Ok(status::DONE)
}

/// Decodes UTF-8 page by page; a character cut by the end of a page waits for the next one.
#[derive(Debug, Default)]
struct LossyText {
    /// A prefix of one character, at most 3 bytes.
    held: Vec<u8>,
}

impl LossyText {
    fn push(&mut self, bytes: &[u8]) -> String {
        self.held.extend_from_slice(bytes);
        let keep = unfinished(&self.held);
        let rest = self.held.split_off(self.held.len() - keep);
        let text = String::from_utf8_lossy(&self.held).into_owned();
        self.held = rest;
        text
    }

    fn finish(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.held)).into_owned()
    }
}

/// How many bytes at the end of `bytes` can still become a character.
fn unfinished(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    (0..tail.len())
        .map(|from| &tail[from..])
        .find(|piece| std::str::from_utf8(piece).is_err_and(|e| e.valid_up_to() == 0 && e.error_len().is_none()))
        .map_or(0, <[u8]>::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_02_pages_cut_anywhere_decode_as_the_whole() {
        let bytes = b"a\xc3\xa9\xe2\x98\x83\xf0\x9d\x84\x9e\xff\xe2\x98\xf0\x9d\x84z\xed\xa0\x80\xe2";
        let whole = String::from_utf8_lossy(bytes);
        for size in 1..bytes.len() {
            let mut text = LossyText::default();
            let mut shown: String = bytes.chunks(size).map(|page| text.push(page)).collect();
            shown.push_str(&text.finish());
            assert_eq!(shown, whole, "pages of {size}");
        }
    }
}
