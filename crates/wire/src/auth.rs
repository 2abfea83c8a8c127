//! Proving to know the password, without sending it where the line is open.

use openssl::hash::{MessageDigest, hash};
use openssl::pkey::PKey;
use openssl::rsa::Padding;

/// The login methods that this client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthMethod {
    Native,
    CachingSha2,
    /// The server asks the kernel who is at the other end of the unix socket (`auth_socket`,
    /// `unix_socket`).
    Peer,
}

impl AuthMethod {
    /// The method of that name, where it is known here.
    pub(crate) fn named(name: &[u8]) -> Option<AuthMethod> {
        match name {
            b"mysql_native_password" => Some(AuthMethod::Native),
            b"caching_sha2_password" => Some(AuthMethod::CachingSha2),
            b"auth_socket" | b"unix_socket" => Some(AuthMethod::Peer),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            AuthMethod::Native => "mysql_native_password",
            AuthMethod::CachingSha2 => "caching_sha2_password",
            AuthMethod::Peer => "unix_socket",
        }
    }

    /// The answer to the server's `scramble`; empty for an empty password. `None` where the
    /// machine's OpenSSL refuses the hash, as one in FIPS mode does with SHA-1.
    pub(crate) fn response(self, password: &[u8], scramble: &[u8]) -> Option<Vec<u8>> {
        let (digest, scramble_first) = match self {
            _ if password.is_empty() => return Some(Vec::new()),
            AuthMethod::Native => (MessageDigest::sha1(), true),
            AuthMethod::CachingSha2 => (MessageDigest::sha256(), false),
            AuthMethod::Peer => return Some(Vec::new()),
        };
        let once = hash(digest, password).ok()?;
        let twice = hash(digest, &once).ok()?;
        let salted = match scramble_first {
            true => [scramble, &twice].concat(),
            false => [&twice, scramble].concat(),
        };
        Some(xor(&once, &hash(digest, &salted).ok()?))
    }
}

fn xor(bytes: &[u8], mask: &[u8]) -> Vec<u8> {
    bytes.iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b).collect()
}

/// The password for a server that does not have it cached, over a line that is not encrypted:
/// hidden by the scramble and encrypted with the server's RSA key (PEM). `None` where the key is of
/// no use.
pub(crate) fn rsa_encrypted(password: &[u8], scramble: &[u8], key_pem: &[u8]) -> Option<Vec<u8>> {
    let key = PKey::public_key_from_pem(key_pem).ok()?.rsa().ok()?;
    let mut plain = password.to_vec();
    plain.push(0);
    let mut cipher = vec![0u8; key.size() as usize];
    let hidden = xor(&plain, scramble);
    let written = key.public_encrypt(&hidden, &mut cipher, Padding::PKCS1_OAEP).ok()?;
    cipher.truncate(written);
    Some(cipher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_length_of_their_hash_and_depend_on_the_scramble() {
        for (method, len) in [(AuthMethod::Native, 20), (AuthMethod::CachingSha2, 32)] {
            let answer = |scramble| method.response(b"secret", scramble).unwrap();
            assert_eq!(answer(b"12345678901234567890").len(), len);
            assert_ne!(answer(b"12345678901234567890"), answer(b"02345678901234567890"));
            assert_eq!(method.response(b"", b"12345678901234567890"), Some(Vec::new()));
            assert_eq!(AuthMethod::named(method.name().as_bytes()), Some(method));
        }
    }

    #[test]
    fn native_answer_is_verified_as_the_server_does() {
        let sha1 = |bytes: &[u8]| hash(MessageDigest::sha1(), bytes).unwrap().to_vec();
        let scramble = b"abcdefghijklmnopqrst";
        let stored = sha1(&sha1(b"pw"));
        let answer = AuthMethod::Native.response(b"pw", scramble).unwrap();
        let once = xor(&answer, &sha1(&[&scramble[..], &stored].concat()));
        assert_eq!(sha1(&once), stored);
    }

    #[test]
    fn a_broken_key_is_no_key() {
        assert_eq!(rsa_encrypted(b"pw", b"scramble", b"not a key"), None);
    }
}
