//! Which accounts a request for the program's accounts is about, and how much of each.

use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use serde_json::Value;

/// The second parameter of `getProgramAccounts` and `programSubscribe`, as far as it picks accounts.
#[derive(Clone, Debug, Default)]
pub struct Filters {
    size: Option<usize>,
    bytes: Vec<(usize, Vec<u8>)>,
    slice: Option<(usize, usize)>,
}

impl Filters {
    pub fn read(config: &Value) -> Self {
        let number = |value: &Value| value.as_u64().map(|number| number as usize);
        let slice = &config["dataSlice"];
        let mut filters = Self { slice: number(&slice["offset"]).zip(number(&slice["length"])), ..Self::default() };
        for filter in config["filters"].as_array().into_iter().flatten() {
            filters.size = filters.size.or(number(&filter["dataSize"]));
            let compared = &filter["memcmp"];
            if let (Some(offset), Some(text)) = (number(&compared["offset"]), compared["bytes"].as_str()) {
                let bytes = match compared["encoding"].as_str() {
                    Some("base64") => BASE64.decode(text).unwrap_or_default(),
                    _ => bs58::decode(text).into_vec().unwrap_or_default(),
                };
                filters.bytes.push((offset, bytes));
            }
        }
        filters
    }

    pub fn pick(&self, data: &[u8]) -> bool {
        self.size.is_none_or(|size| data.len() == size)
            && self.bytes.iter().all(|(offset, bytes)| data.get(*offset..).is_some_and(|rest| rest.starts_with(bytes)))
    }

    /// The part of the data that is asked for.
    pub fn part<'a>(&self, data: &'a [u8]) -> &'a [u8] {
        let Some((offset, length)) = self.slice else { return data };
        let start = offset.min(data.len());
        &data[start..(start + length).min(data.len())]
    }
}
