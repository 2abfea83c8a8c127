//! The login methods that this client speaks, and what each computes of a password. Pure.

use base::{SessionError, SessionResult, named};
use curve25519_dalek::edwards::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use openssl::error::ErrorStack;
use openssl::hash::{MessageDigest, hash};
use openssl::pkcs5::pbkdf2_hmac;
use openssl::pkey::{Id, PKey, Public};
use openssl::rsa::Padding;
use openssl::sha::sha512;
use openssl::sign::Signer;

/// Bytes of the scramble of MariaDB's methods with signatures.
pub(crate) const NONCE: usize = 32;
/// What a server says of a password of `parsec`: 'P', the rounds of its derivation, the salt.
const EXTENDED_SALT: usize = 20;
/// MariaDB's own client derives a key in 8192 rounds at most.
const ROUNDS_MAX: u8 = 3;

named! {
    /// The login methods that this client speaks.
    pub(crate) enum AuthMethod {
        Native = "mysql_native_password",
        CachingSha2 = "caching_sha2_password",
        Sha256 = "sha256_password",
        Ed25519 = "client_ed25519",
        Parsec = "parsec",
        /// The password as it is.
        Clear = "mysql_clear_password",
        /// The server asks the kernel who is at the other end of the unix socket (`auth_socket`,
        /// `unix_socket`).
        Peer = "unix_socket",
    }
}

impl AuthMethod {
    /// The method of that name.
    ///
    /// # Errors
    /// It is not known here.
    pub(crate) fn named(name: &[u8]) -> SessionResult<AuthMethod> {
        let known = AuthMethod::ALL.into_iter().find(|method| method.name().as_bytes() == name);
        match (known, name) {
            (Some(known), _) => Ok(known),
            (None, b"auth_socket") => Ok(AuthMethod::Peer),
            (None, _) => Err(SessionError::Unexpected(format!(
                "the server wants login method {:?}, which mydyno does not speak; give the user \
                 one of {}",
                String::from_utf8_lossy(name),
                AuthMethod::ALL.map(AuthMethod::name).join(", ")
            ))),
        }
    }
}

/// What `mysql_native_password` and the fast way of `caching_sha2_password` answer to the server's
/// scramble: the hash of the password, hidden by a hash of the scramble and of what the server
/// has stored.
pub(crate) fn scrambled(
    method: AuthMethod,
    password: &[u8],
    scramble: &[u8],
) -> Result<Vec<u8>, ErrorStack> {
    let is_native = method == AuthMethod::Native;
    let digest = if is_native { MessageDigest::sha1() } else { MessageDigest::sha256() };
    let once = hash(digest, password)?;
    let twice = hash(digest, &once)?;
    let salted = if is_native { [scramble, &twice].concat() } else { [&twice, scramble].concat() };
    Ok(xor(&once, &hash(digest, &salted)?))
}

fn xor(bytes: &[u8], mask: &[u8]) -> Vec<u8> {
    bytes.iter().zip(mask.iter().cycle()).map(|(a, b)| a ^ b).collect()
}

/// A text, such as a password as it is, with the zero byte that ends texts in the protocol.
pub(crate) fn zero_terminated(text: &[u8]) -> Vec<u8> {
    [text, &[0]].concat()
}

/// The password, hidden by the scramble and encrypted with the server's RSA key.
pub(crate) fn rsa_encrypted(
    password: &[u8],
    scramble: &[u8],
    key: &PKey<Public>,
) -> Result<Vec<u8>, ErrorStack> {
    let key = key.rsa()?;
    let mut cipher = vec![0u8; key.size() as usize];
    let hidden = xor(&zero_terminated(password), scramble);
    let written = key.public_encrypt(&hidden, &mut cipher, Padding::PKCS1_OAEP)?;
    cipher.truncate(written);
    Ok(cipher)
}

/// The signature of `client_ed25519`: Ed25519 (RFC 8032) with the hash of the password where that
/// of a seed of 32 bytes belongs, which is why OpenSSL cannot make it.
pub(crate) fn ed25519_signature(password: &[u8], message: &[u8]) -> [u8; 64] {
    let wide = |parts: &[&[u8]]| Scalar::from_bytes_mod_order_wide(&sha512(&parts.concat()));
    let secret = sha512(password);
    let (first, prefix) = secret.split_at(32);
    let mut half = [0; 32];
    half.copy_from_slice(first);
    let scalar = Scalar::from_bytes_mod_order(clamp_integer(half));
    let public = EdwardsPoint::mul_base(&scalar).compress();
    let nonce = wide(&[prefix, message]);
    let commitment = EdwardsPoint::mul_base(&nonce).compress();
    let challenge = wide(&[commitment.as_bytes(), public.as_bytes(), message]);
    let mut signature = [0; 64];
    signature[..32].copy_from_slice(commitment.as_bytes());
    signature[32..].copy_from_slice((challenge * scalar + nonce).as_bytes());
    signature
}

/// The answer of `parsec` to the server's nonce and extended salt: a nonce of the client's, and the
/// signature of both nonces by a key that is derived from the password. `None` where the salt has
/// another form.
pub(crate) fn parsec_answer(
    password: &[u8],
    server_nonce: &[u8],
    extended_salt: &[u8],
) -> Result<Option<Vec<u8>>, ErrorStack> {
    let &[b'P', rounds @ 0..=ROUNDS_MAX, ref salt @ ..] = extended_salt else {
        return Ok(None);
    };
    if extended_salt.len() != EXTENDED_SALT {
        return Ok(None);
    }
    let mut client_nonce = [0; NONCE];
    openssl::rand::rand_bytes(&mut client_nonce)?;
    let mut seed = [0; 32];
    pbkdf2_hmac(password, salt, 1024 << rounds, MessageDigest::sha512(), &mut seed)?;
    let key = PKey::private_key_from_raw_bytes(&seed, Id::ED25519)?;
    let message = [server_nonce, &client_nonce].concat();
    let signature = Signer::new_without_digest(&key)?.sign_oneshot_to_vec(&message)?;
    Ok(Some([&client_nonce[..], &signature].concat()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use openssl::base64::decode_block;
    use openssl::sign::Verifier;

    fn verifies(public: &[u8], message: &[u8], signature: &[u8]) -> bool {
        let key = PKey::public_key_from_raw_bytes(public, Id::ED25519).unwrap();
        let mut verifier = Verifier::new_without_digest(&key).unwrap();
        verifier.verify_oneshot(signature, message).unwrap()
    }

    #[test]
    fn hashes_have_their_length_and_depend_on_the_scramble() {
        for (method, len) in [(AuthMethod::Native, 20), (AuthMethod::CachingSha2, 32)] {
            let answer = |scramble| scrambled(method, b"secret", scramble).unwrap();
            assert_eq!(answer(b"12345678901234567890").len(), len);
            assert_ne!(answer(b"12345678901234567890"), answer(b"02345678901234567890"));
        }
        for method in AuthMethod::ALL {
            assert_eq!(AuthMethod::named(method.name().as_bytes()).unwrap(), method);
        }
    }

    #[test]
    fn native_answer_is_verified_as_the_server_does() {
        let sha1 = |bytes: &[u8]| hash(MessageDigest::sha1(), bytes).unwrap().to_vec();
        let scramble = b"abcdefghijklmnopqrst";
        let stored = sha1(&sha1(b"pw"));
        let answer = scrambled(AuthMethod::Native, b"pw", scramble).unwrap();
        let once = xor(&answer, &sha1(&[&scramble[..], &stored].concat()));
        assert_eq!(sha1(&once), stored);
    }

    /// The stored keys are those of MariaDB's own test of `ed25519_password`; OpenSSL verifies.
    #[test]
    fn signatures_verify_with_the_keys_that_mariadb_stores() {
        for (password, stored) in [
            ("foo", "vubFBzIrapbfHct1/J72dnUryz5VS7lA6XHH8sIx4TI="),
            ("foobar", "qv2mG6HWCuy32Slb5xhV4THStewNz2VINVPbgk+XAJ8="),
            ("foo bar", "Y5fV74JAVRMOK2cdnUsYS+WW9sXaaL/o+6WGKOgqnzc="),
        ] {
            let public = &decode_block(stored).unwrap()[..32];
            let nonce = [7; NONCE];
            let signature = ed25519_signature(password.as_bytes(), &nonce);
            assert!(verifies(public, &nonce, &signature), "{password}");
            assert!(!verifies(public, &[8; NONCE], &signature));
            assert!(!verifies(public, &nonce, &ed25519_signature(b"fo", &nonce)));
        }
    }

    /// What MariaDB 11.8.9 stored of the password.
    #[test]
    fn parsec_signs_both_nonces_with_the_derived_key() {
        let salt = decode_block("uobD/b6wgWyQqy35hI/62T0D").unwrap();
        let stored = "zt6m0TkAG9be3IwEy+TKmO46yDjgNvPSl84GWptihEs=";
        let public = &decode_block(stored).unwrap()[..32];
        let salt = [&b"P\0"[..], &salt].concat();
        let answer = || parsec_answer(b"s3cret", &[5; NONCE], &salt).unwrap().unwrap();
        let first = answer();
        let (client_nonce, signature) = first.split_at(NONCE);
        assert!(verifies(public, &[&[5; NONCE], client_nonce].concat(), signature));
        assert_ne!(first, answer());
        for bad in [&salt[..19], b"", b"P", b"Q\x01aaaaaaaaaaaaaaaaaa", b"P\x04aaaaaaaaaaaaaaaaaa"]
        {
            assert_eq!(parsec_answer(b"pw", &[5; NONCE], bad).unwrap(), None);
        }
    }
}
