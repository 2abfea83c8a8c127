//! Proving to know the password, without sending it where the line is open.

use aws_lc_rs::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use aws_lc_rs::rsa::{OAEP_SHA1_MGF1SHA1, OaepPublicEncryptingKey, PublicEncryptingKey};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

/// The login methods that this client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Native,
    CachingSha2,
    /// The server asks the kernel who is at the other end of the unix socket (`auth_socket`, `unix_socket`).
    Peer,
}

impl Method {
    /// The method of that name, where it is known here.
    pub(crate) fn named(name: &[u8]) -> Option<Method> {
        match name {
            b"mysql_native_password" => Some(Method::Native),
            b"caching_sha2_password" => Some(Method::CachingSha2),
            b"auth_socket" | b"unix_socket" => Some(Method::Peer),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Method::Native => "mysql_native_password",
            Method::CachingSha2 => "caching_sha2_password",
            Method::Peer => "unix_socket",
        }
    }

    /// The answer to the server's `scramble`; empty for an empty password.
    pub(crate) fn response(self, password: &[u8], scramble: &[u8]) -> Vec<u8> {
        if password.is_empty() {
            return Vec::new();
        }
        match self {
            Method::Native => {
                let once = digest(&SHA1_FOR_LEGACY_USE_ONLY, password);
                let twice = digest(&SHA1_FOR_LEGACY_USE_ONLY, once.as_ref());
                let mask = hash(&SHA1_FOR_LEGACY_USE_ONLY, &[scramble, twice.as_ref()]);
                xor(once.as_ref(), &mask)
            }
            Method::CachingSha2 => {
                let once = digest(&SHA256, password);
                let twice = digest(&SHA256, once.as_ref());
                let mask = hash(&SHA256, &[twice.as_ref(), scramble]);
                xor(once.as_ref(), &mask)
            }
            Method::Peer => Vec::new(),
        }
    }
}

fn hash(algorithm: &'static Algorithm, parts: &[&[u8]]) -> Vec<u8> {
    digest(algorithm, &parts.concat()).as_ref().to_vec()
}

fn xor(bytes: &[u8], mask: &[u8]) -> Vec<u8> {
    bytes
        .iter()
        .zip(mask.iter().cycle())
        .map(|(a, b)| a ^ b)
        .collect()
}

/// The password for a server that does not have it cached, over a line that is not encrypted: hidden by the scramble
/// and encrypted with the server's RSA key (PEM). `None` where the key is of no use.
pub(crate) fn rsa_encrypted(password: &[u8], scramble: &[u8], key_pem: &[u8]) -> Option<Vec<u8>> {
    let key = SubjectPublicKeyInfoDer::from_pem_slice(key_pem).ok()?;
    let key = PublicEncryptingKey::from_der(&key).ok()?;
    let key = OaepPublicEncryptingKey::new(key).ok()?;
    let mut plain = password.to_vec();
    plain.push(0);
    let mut cipher = vec![0u8; key.ciphertext_size()];
    let hidden = xor(&plain, scramble);
    let written = key
        .encrypt(&OAEP_SHA1_MGF1SHA1, &hidden, &mut cipher, None)
        .ok()?
        .len();
    cipher.truncate(written);
    Some(cipher)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_have_the_length_of_their_hash_and_depend_on_the_scramble() {
        for (method, len) in [(Method::Native, 20), (Method::CachingSha2, 32)] {
            let a = method.response(b"secret", b"12345678901234567890");
            assert_eq!(a.len(), len);
            assert_ne!(a, method.response(b"secret", b"02345678901234567890"));
            assert!(method.response(b"", b"12345678901234567890").is_empty());
            assert_eq!(Method::named(method.name().as_bytes()), Some(method));
        }
    }

    #[test]
    fn native_answer_is_verified_as_the_server_does() {
        let scramble = b"abcdefghijklmnopqrst";
        let stored = hash(
            &SHA1_FOR_LEGACY_USE_ONLY,
            &[&hash(&SHA1_FOR_LEGACY_USE_ONLY, &[b"pw"])],
        );
        let answer = Method::Native.response(b"pw", scramble);
        let once = xor(
            &answer,
            &hash(&SHA1_FOR_LEGACY_USE_ONLY, &[scramble, &stored]),
        );
        assert_eq!(hash(&SHA1_FOR_LEGACY_USE_ONLY, &[&once]), stored);
    }

    #[test]
    fn a_broken_key_is_no_key() {
        assert_eq!(rsa_encrypted(b"pw", b"scramble", b"not a key"), None);
    }
}
