//! The buffer pool of servers that are driven together: one machine's memory, which they divide.

use crate::error::{LabResult, unfit};
use crate::target::preset::{PresetSpec, lines, with_users};
use base::{given_in, parse_size};
use server::ServerBuild;
use server::preset::{POOL_BYTES_MIN, PoolPart, Translated, chunk_of};

const VARIABLE: &str = "innodb_buffer_pool_size";
/// What mydyno's servers have where nothing else is set.
pub(crate) const POOL_BYTES_DEFAULT: u64 = 1 << 30;

/// A pool, and who has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pool {
    servers: u32,
    whole_bytes: u64,
    pub(crate) each_bytes: u64,
}

impl Pool {
    /// What the variables `set`, of which the last counts, give so many servers.
    ///
    /// # Errors
    /// Where there are several, and the pool's size is none.
    pub(crate) fn of(set: &[(String, String)], servers: u32) -> LabResult<Pool> {
        let given = given_in(set, VARIABLE);
        let whole_bytes = match given.map(|text| parse_size(text).ok_or(text)) {
            None => POOL_BYTES_DEFAULT,
            Some(Ok(bytes)) => bytes,
            // The only server says itself what it makes of it.
            Some(Err(_)) if servers <= 1 => POOL_BYTES_DEFAULT,
            Some(Err(text)) => {
                return Err(unfit(format!(
                    "{VARIABLE} {text:?} is no size, which {servers} instances could divide; write \
                     bytes, or 512M or 8G"
                )));
            }
        };
        let whole_mib = whole_bytes >> 20;
        let part_bytes = (whole_mib / u64::from(servers.max(1))) << 20;
        Ok(Pool { servers, whole_bytes, each_bytes: part_bytes.max(POOL_BYTES_MIN) })
    }

    /// Of all servers together.
    pub(crate) fn all_bytes(&self) -> u64 {
        match self.servers {
            0 | 1 => self.whole_bytes,
            servers => self.each_bytes.saturating_mul(servers.into()),
        }
    }

    /// What a reader of the numbers should know.
    pub(crate) fn note(&self) -> Option<String> {
        let Pool { servers, whole_bytes, each_bytes } = self;
        (*servers > 1).then(|| {
            let least =
                if *each_bytes == POOL_BYTES_MIN { ", the least that a server takes" } else { "" };
            format!(
                "{servers} servers share this machine: each has {} MiB of the buffer pool's {} \
                 MiB{least}, 1/{servers} of the page cache of emulated devices and of the \
                 connections, and a database and a redo log of its own in full size",
                each_bytes >> 20,
                whole_bytes >> 20
            )
        })
    }
}

/// The variables of one or each of several servers, which divide a pool.
#[derive(Clone, Debug)]
pub(crate) struct Divided {
    pub(crate) pool: Pool,
    /// For this server's part of the pool.
    pub(crate) preset: Option<Translated>,
    /// The user's, with those that make the part.
    pub(crate) set: Vec<(String, String)>,
}

impl Divided {
    /// Of a preset and the variables `set` of the user.
    ///
    /// # Errors
    /// As [`Pool::of`].
    pub(crate) fn of(
        build: &ServerBuild,
        asked: Option<PresetSpec>,
        set: &[(String, String)],
        servers: u32,
    ) -> LabResult<Divided> {
        let translate = |part: Option<PoolPart>| {
            asked.map(|asked| asked.preset.translate(build, asked.scale, set, part))
        };
        let whole = translate(None);
        let pool = Pool::of(&with_users(whole.as_ref(), set), servers)?;
        if servers <= 1 {
            // Who names a pool means that one, and not what the server would round it up to.
            let named_bytes = given_in(set, VARIABLE).and_then(parse_size);
            let chunk = named_bytes.and_then(|bytes| chunk_of(build, bytes, whole.as_ref(), set));
            let set = set.iter().cloned().chain(chunk).collect();
            return Ok(Divided { pool, preset: whole, set });
        }
        let part = PoolPart::at_most(build, pool.each_bytes, whole.as_ref(), set);
        let preset = translate(Some(part));
        let of_preset = lines(preset.as_ref());
        let added = part.set().into_iter().filter(|line| !of_preset.contains(line));
        let set = set.iter().cloned().chain(added).collect();
        Ok(Divided { pool: Pool { each_bytes: part.bytes, ..pool }, preset, set })
    }

    /// All variables that are set; of one that comes twice the last counts.
    pub(crate) fn all(&self) -> Vec<(String, String)> {
        with_users(self.preset.as_ref(), &self.set)
    }
}

#[cfg(test)]
mod tests {
    use super::Pool;

    fn pool(value: Option<&str>, servers: u32) -> Pool {
        let set = value.map(|value| ("innodb-buffer-pool-size".to_owned(), value.to_owned()));
        Pool::of(&set.into_iter().collect::<Vec<_>>(), servers).unwrap()
    }

    #[test]
    fn servers_divide_a_pool_down_to_the_least() {
        assert_eq!(pool(Some("31M"), 2).each_bytes, 15 << 20);
        assert_eq!(pool(None, 4).each_bytes, 256 << 20);
        assert_eq!(pool(None, 4).all_bytes(), 1 << 30);
        let least = pool(Some("31M"), 8);
        assert_eq!((least.each_bytes, least.all_bytes()), (6 << 20, 48 << 20));
        assert!(least.note().unwrap().contains("the least"));
    }

    #[test]
    fn one_server_keeps_what_it_has() {
        let one = pool(Some("1536K"), 1);
        assert_eq!(one.all_bytes(), 1_572_864);
        assert!(one.note().is_none());
        let set = [("innodb_buffer_pool_size".to_owned(), "much".to_owned())];
        assert!(Pool::of(&set, 1).is_ok());
        let error = Pool::of(&set, 2).unwrap_err().to_string();
        assert!(error.contains("\"much\" is no size"), "{error}");
    }
}
