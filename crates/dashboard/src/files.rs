//! The embedded files.

/// One file of the build.
pub struct File {
    /// Below the root, without a slash at its beginning.
    pub path: &'static str,
    /// Changes with the bytes.
    pub tag: &'static str,
    pub bytes: &'static [u8],
    /// The same compressed, if that is smaller.
    pub gzip: Option<&'static [u8]>,
    pub brotli: Option<&'static [u8]>,
}

impl File {
    /// The name of a file below `assets/` contains the hash of its bytes.
    pub fn never_changes(&self) -> bool {
        self.path.starts_with("assets/")
    }

    pub fn content_type(&self) -> &'static str {
        match self.path.rsplit_once('.').map(|(_, ending)| ending) {
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            Some("svg") => "image/svg+xml",
            Some("json") => "application/json",
            Some("woff2") => "font/woff2",
            Some("png") => "image/png",
            Some("txt") => "text/plain; charset=utf-8",
            _ => "application/octet-stream",
        }
    }
}

const FILES: &[File] = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The file at a path such as `/assets/index-abc.js`.
pub fn at(path: &str) -> Option<&'static File> {
    let path = path.strip_prefix('/')?;
    FILES.iter().find(|file| file.path == path)
}

/// The page that every address of the dashboard opens. `None` if nothing was built.
pub fn index() -> Option<&'static File> {
    at("/index.html")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_font_has_the_type_of_fonts() {
        let font = File { path: "assets/font-a1.woff2", tag: "", bytes: &[], gzip: None, brotli: None };
        assert_eq!((font.content_type(), font.never_changes()), ("font/woff2", true));
    }
}
