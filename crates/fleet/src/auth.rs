//! The fleet's token: known to all ranks, and never sent. Each side proves that it knows it by an
//! HMAC over what the other has drawn.

use crate::error::{FleetError, FleetResult};
use openssl::hash::MessageDigest;
use openssl::memcmp;
use openssl::pkey::PKey;
use openssl::rand::rand_bytes;
use openssl::sign::Signer;
use std::fmt;
use std::path::Path;

/// Who listens where rank 0 should has a proof to try tokens on: shorter ones could be found.
const TOKEN_BYTES_MIN: usize = 16;
const TOKEN_BYTES_MAX: usize = 4096;
/// Where the token is, unless a file is named.
const VARIABLE: &str = "MYDYNO_FLEET_TOKEN";

/// What only the ranks of one fleet know.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

/// Random bytes that are used once.
pub(crate) type Nonce = [u8; 32];

impl Token {
    /// That of a file or, where none is named, of the environment.
    ///
    /// # Errors
    /// Where there is none, or it is too short.
    pub fn find(file: Option<&Path>) -> FleetResult<Token> {
        let text = match file {
            Some(file) => std::fs::read_to_string(file)
                .map_err(|error| format!("cannot read the token {}: {error}", file.display())),
            None => std::env::var(VARIABLE).map_err(|_| {
                format!(
                    "a fleet needs a token that all its ranks know: set {VARIABLE}, or name a file \
                     by --fleet-token-file"
                )
            }),
        };
        Token::new(text.map_err(FleetError::Usage)?.trim())
    }

    /// # Errors
    /// Where it is too short or too long.
    pub fn new(text: &str) -> FleetResult<Token> {
        if !(TOKEN_BYTES_MIN..=TOKEN_BYTES_MAX).contains(&text.len()) {
            return Err(FleetError::Usage(format!(
                "the fleet's token has {} bytes; it needs {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX}: \
                 take a random one (openssl rand -hex 16)",
                text.len()
            )));
        }
        Ok(Token(text.as_bytes().to_vec()))
    }

    /// What proves that `whose` knows the token, to who has drawn the second nonce.
    pub(crate) fn proof(&self, whose: Side, nonces: [&Nonce; 2], rank: u32) -> Option<Vec<u8>> {
        let key = PKey::hmac(&self.0).ok()?;
        let mut signer = Signer::new(MessageDigest::sha256(), &key).ok()?;
        for part in [whose.label(), nonces[0], nonces[1], &rank.to_le_bytes()] {
            signer.update(part).ok()?;
        }
        signer.sign_to_vec().ok()
    }

    /// Is this that proof? Takes as long for each wrong one.
    pub(crate) fn verifies(
        &self,
        whose: Side,
        nonces: [&Nonce; 2],
        rank: u32,
        proof: &[u8],
    ) -> bool {
        let expected = self.proof(whose, nonces, rank);
        expected.is_some_and(|own| own.len() == proof.len() && memcmp::eq(&own, proof))
    }
}

/// Who proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Leader,
    Follower,
}

impl Side {
    fn label(self) -> &'static [u8] {
        match self {
            Side::Leader => b"mydyno fleet leader",
            Side::Follower => b"mydyno fleet follower",
        }
    }
}

/// A new one; `None` where the system has no random numbers.
pub(crate) fn nonce() -> Option<Nonce> {
    let mut nonce = [0; 32];
    rand_bytes(&mut nonce).ok()?;
    Some(nonce)
}

#[cfg(test)]
mod tests {
    use super::{Side, Token, nonce};

    #[test]
    fn only_who_knows_the_token_proves_it() {
        let (token, other) =
            (Token::new("correct horse battery").unwrap(), Token::new(&"x".repeat(16)).unwrap());
        let (mine, theirs) = (nonce().unwrap(), nonce().unwrap());
        let proof = token.proof(Side::Follower, [&mine, &theirs], 3).unwrap();
        assert!(token.verifies(Side::Follower, [&mine, &theirs], 3, &proof));
        assert!(!other.verifies(Side::Follower, [&mine, &theirs], 3, &proof));
        // Neither the other side's proof, nor that of another rank or another time.
        assert!(!token.verifies(Side::Leader, [&mine, &theirs], 3, &proof));
        assert!(!token.verifies(Side::Follower, [&mine, &theirs], 2, &proof));
        assert!(!token.verifies(Side::Follower, [&theirs, &mine], 3, &proof));
        assert!(!token.verifies(Side::Follower, [&mine, &theirs], 3, &proof[1..]));
        assert_eq!(format!("{token:?}"), "Token(hidden)");
        assert!(Token::new(&"x".repeat(15)).unwrap_err().to_string().contains("needs 16"));
    }
}
