//! Keys that appear, disappear and expire, and an issuer that is not queried too often.

use crate::{
    issuer::{AUDIENCE, KEYS, METADATA, NAME, PublishedDocuments, START, at, settings, verifier},
    signer::Signer,
};
use docent_auth::{
    Algorithm, DocumentFetchError, DocumentFetcher, FetchedDocument, RejectionReason,
    TokenVerifier, TrustedIssuer,
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Barrier,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

const HOUR: u64 = 3600;

/// Claims that outlast these tests.
fn lasting() -> Value {
    json!({"iss": NAME, "sub": "ann", "aud": AUDIENCE, "exp": START + 1000 * HOUR})
}

#[track_caller]
fn check(verifier: &TokenVerifier, token: &str, seconds: u64, want: Option<&RejectionReason>) {
    let got = verifier.verify(token, at(seconds)).err();
    assert_eq!(got.map(|rejected| rejected.reason).as_ref(), want);
}

fn signer(kid: &str) -> Signer {
    Signer::new(kid, Algorithm::EdDsa)
}

#[test]
fn keys_are_learned_once_and_replaced_whole() {
    let (old, new) = (signer("old"), signer("new"));
    let published = PublishedDocuments::new(&[&old]);
    let verifier = verifier(settings(), &published);
    let (first, second) = (old.token(&lasting()), new.token(&lasting()));
    check(&verifier, &first, 0, Some(&RejectionReason::NoKeys));
    assert!(published.asked().is_empty(), "verify makes no query");
    assert!(verifier.refresh_keys(&first, at(0)));
    assert_eq!(published.asked(), [METADATA, KEYS]);
    check(&verifier, &first, 0, None);
    assert!(verifier.refresh_keys(&first, at(100)), "known, so there is nothing to ask");
    assert!(published.asked().is_empty());

    check(&verifier, &second, 100, Some(&RejectionReason::UnknownKey));
    published.keys(&[&new], None);
    assert!(verifier.refresh_keys(&second, at(100)));
    assert_eq!(published.asked(), [KEYS], "the place is known");
    check(&verifier, &second, 100, None);
    check(&verifier, &first, 100, Some(&RejectionReason::UnknownKey));
}

#[test]
fn made_up_key_names_do_not_reach_the_issuer() {
    let real = signer("k");
    let published = PublishedDocuments::new(&[&real]);
    let verifier = verifier(settings(), &published);
    verifier.warm(at(0));
    published.asked();
    for second in 0..120 {
        for kid in 0..10 {
            let forged = Signer { kid: format!("{second}-{kid}"), ..signer("") };
            assert!(!verifier.refresh_keys(&forged.token(&lasting()), at(second)));
        }
    }
    assert_eq!(published.asked().len(), 3, "once in 30 s");
    for hopeless in ["", "a.b.c", "\u{1f600}"] {
        assert!(!verifier.refresh_keys(hopeless, at(500)));
    }
    let elsewhere = json!({"iss": "https://evil.example", "sub": "eve"});
    assert!(!verifier.refresh_keys(&real.token(&elsewhere), at(500)));
    assert!(published.asked().is_empty());
}

#[test]
fn ages() {
    let key = signer("k");
    let token = key.token(&lasting());
    for (granted, fresh) in
        [(None, HOUR), (Some(0), 300), (Some(301), 301), (Some(1_000_000), 24 * HOUR)]
    {
        let published = PublishedDocuments::new(&[]);
        published.keys(&[&key], granted.map(Duration::from_secs));
        let verifier = verifier(settings(), &published);
        assert!(verifier.warm(at(0)).is_empty());
        check(&verifier, &token, fresh - 1, None);
        check(&verifier, &token, fresh, Some(&RejectionReason::NoKeys));
        published.asked();
        assert!(verifier.refresh_keys(&token, at(fresh)));
        assert!(published.asked().contains(&KEYS.to_owned()), "{granted:?}");
        check(&verifier, &token, fresh, None);
    }
}

#[test]
fn a_revoked_key_ends_with_the_next_refresh() {
    let key = signer("k");
    let token = key.token(&lasting());
    let published = PublishedDocuments::new(&[&key]);
    let verifier = verifier(settings(), &published);
    verifier.warm(at(0));
    published.keys(&[], None);
    check(&verifier, &token, HOUR, Some(&RejectionReason::NoKeys));
    assert!(!verifier.refresh_keys(&token, at(HOUR)));
    check(&verifier, &token, HOUR, Some(&RejectionReason::UnknownKey));
}

#[test]
fn old_keys_count_for_a_day_while_the_issuer_is_silent() {
    let key = signer("k");
    let token = key.token(&lasting());
    let published = PublishedDocuments::new(&[&key]);
    let verifier = verifier(settings(), &published);
    verifier.warm(at(0));
    published.fall_silent();
    let end = HOUR + 24 * HOUR;
    for late in [HOUR, 2 * HOUR, end - 1] {
        check(&verifier, &token, late, Some(&RejectionReason::NoKeys));
        assert!(verifier.refresh_keys(&token, at(late)));
        check(&verifier, &token, late, None);
    }
    check(&verifier, &token, end, Some(&RejectionReason::NoKeys));
    assert!(!verifier.refresh_keys(&token, at(end)));
    assert!(!verifier.refresh_keys(&token, at(end + 60)));
    check(&verifier, &token, end + 60, Some(&RejectionReason::NoKeys));
    published.put(METADATA, &json!({"issuer": NAME, "jwks_uri": KEYS}), None);
    published.keys(&[&key], None);
    assert!(verifier.refresh_keys(&token, at(end + 120)));
    check(&verifier, &token, end + 120, None);
}

#[test]
fn keys_outlast_the_verifier_that_read_them() {
    let key = signer("k");
    let token = key.token(&lasting());
    let published = PublishedDocuments::new(&[&key]);
    let first = verifier(settings(), &published);
    assert!(first.warm(at(0)).is_empty());
    published.fall_silent();
    let elsewhere = PublishedDocuments::new(&[&key]);
    let mut next = verifier(settings(), &elsewhere);
    next.adopt_keys(&first);
    check(&next, &token, 60, None);
    published.asked();
    assert!(next.refresh_keys(&token, at(HOUR)));
    assert_eq!(elsewhere.asked(), [KEYS], "the next look goes the new way");
    assert!(published.asked().is_empty());

    let mut moved = settings();
    moved.jwks_uri = Some("https://login.example.com/team/moved".to_owned());
    let mut next = verifier(moved, &published);
    next.adopt_keys(&first);
    check(&next, &token, 60, Some(&RejectionReason::NoKeys));
}

#[test]
fn an_issuer_that_failed_is_queried_again() {
    let key = signer("k");
    let published = PublishedDocuments::new(&[&key]);
    let silent = Arc::new(PublishedDocuments::default());
    let first = verifier(settings(), &silent);
    assert_eq!(first.warm(at(0)).len(), 1);
    let mut next = verifier(settings(), &published);
    next.adopt_keys(&first);
    assert!(next.warm(at(1)).is_empty());
    check(&next, &key.token(&lasting()), 1, None);
}

#[test]
fn a_broken_set_leaves_the_old_keys() {
    let key = signer("k");
    let token = key.token(&lasting());
    let published = PublishedDocuments::new(&[&key]);
    let verifier = verifier(settings(), &published);
    verifier.warm(at(0));
    let many = vec![key.jwk(); 101];
    let huge = "x".repeat(256 * 1024);
    for (turn, broken) in
        (1..).zip([json!([]), json!({"keys": many}), json!({"keys": [key.jwk()], "fill": huge})])
    {
        published.put(KEYS, &broken, None);
        let now = HOUR + turn * 60;
        assert!(verifier.refresh_keys(&token, at(now)));
        check(&verifier, &token, now, None);
        check(&verifier, &token, now + 30, Some(&RejectionReason::NoKeys));
    }
}

#[test]
fn keys_that_moved_are_found_again() {
    let key = signer("k");
    let token = key.token(&lasting());
    let published = PublishedDocuments::new(&[&key]);
    let verifier = verifier(settings(), &published);
    verifier.warm(at(0));
    published.fall_silent();
    let moved = "https://login.example.com/team/moved";
    published.put(METADATA, &json!({"issuer": NAME, "jwks_uri": moved}), None);
    published.put(moved, &json!({"keys": [key.jwk()]}), None);
    published.asked();
    assert!(verifier.refresh_keys(&token, at(HOUR)));
    assert_eq!(published.asked(), [KEYS]);
    assert!(verifier.refresh_keys(&token, at(HOUR + 30)));
    assert_eq!(published.asked(), [METADATA, moved]);
}

#[test]
fn metadata_of_another_issuer_is_ignored() {
    let key = signer("k");
    let published = PublishedDocuments::new(&[&key]);
    published.put(METADATA, &json!({"issuer": "https://evil.example", "jwks_uri": KEYS}), None);
    let verifier = verifier(settings(), &published);
    let failed = verifier.warm(at(0));
    assert_eq!(failed.len(), 1);
    assert!(failed[0].1.to_string().contains("https://evil.example"), "{}", failed[0].1);
    check(&verifier, &key.token(&lasting()), 0, Some(&RejectionReason::NoKeys));
}

#[test]
fn a_clock_set_back_invalidates_cached_keys() {
    let key = signer("k");
    let token = key.token(&lasting());
    let published = PublishedDocuments::new(&[&key]);
    let verifier = verifier(settings(), &published);
    verifier.warm(at(10 * HOUR));
    check(&verifier, &token, 10 * HOUR - 30, None);
    check(&verifier, &token, HOUR, Some(&RejectionReason::NoKeys));
    assert!(verifier.refresh_keys(&token, at(HOUR)));
    check(&verifier, &token, HOUR, None);
}

/// Blocks one fetch of the keys until the test releases it.
struct BlockingFetcher {
    held_back: usize,
    published: Arc<PublishedDocuments>,
    asked: AtomicUsize,
    started: Barrier,
    go: Barrier,
}

impl DocumentFetcher for BlockingFetcher {
    fn get(&self, url: &str) -> Result<FetchedDocument, DocumentFetchError> {
        if url == KEYS && self.asked.fetch_add(1, Ordering::SeqCst) == self.held_back {
            self.started.wait();
            self.go.wait();
        }
        self.published.get(url)
    }
}

impl BlockingFetcher {
    fn new(key: &Signer, held_back: usize) -> (Arc<Self>, TokenVerifier) {
        let slow = Arc::new(Self {
            held_back,
            published: PublishedDocuments::new(&[key]),
            asked: AtomicUsize::new(0),
            started: Barrier::new(2),
            go: Barrier::new(2),
        });
        let issuer = TrustedIssuer::check(settings()).unwrap();
        let fetch = Arc::clone(&slow) as Arc<dyn DocumentFetcher>;
        (slow, TokenVerifier::new(vec![issuer], fetch).unwrap())
    }
}

#[test]
fn not_every_thread_waits_for_a_slow_issuer() {
    let key = signer("k");
    let token = key.token(&lasting());
    let (slow, verifier) = BlockingFetcher::new(&key, 0);
    let (sender, outcomes) = mpsc::channel();
    thread::scope(|scope| {
        let first = scope.spawn(|| verifier.refresh_keys(&token, at(0)));
        slow.started.wait();
        for _ in 0..40 {
            let (sender, verifier, token) = (sender.clone(), &verifier, &token);
            scope.spawn(move || sender.send(verifier.refresh_keys(token, at(0))));
        }
        let next = || outcomes.recv_timeout(Duration::from_mins(1)).ok();
        let turned_away: Vec<bool> = (0..9).map_while(|_| next()).collect();
        slow.go.wait();
        assert_eq!(turned_away, [false; 9], "32 wait, with the one that asks");
        assert!(first.join().unwrap());
        assert!((9..40).all(|_| outcomes.recv().unwrap()));
    });
    assert!(verifier.refresh_keys(&token, at(0)));
}

#[test]
fn one_caller_refreshes_and_old_keys_remain_valid() {
    let key = signer("k");
    let token = key.token(&lasting());
    let (slow, verifier) = BlockingFetcher::new(&key, 1);
    assert!(verifier.warm(at(0)).is_empty());
    thread::scope(|scope| {
        let learners: Vec<_> =
            (0..8).map(|_| scope.spawn(|| verifier.refresh_keys(&token, at(HOUR)))).collect();
        slow.started.wait();
        check(&verifier, &token, HOUR, None);
        slow.go.wait();
        assert!(learners.into_iter().all(|learner| learner.join().unwrap()));
    });
    assert_eq!(slow.asked.load(Ordering::SeqCst), 2, "once at the start, once for all eight");
}

/// Panics on the second fetch.
struct PanickingFetcher(Arc<PublishedDocuments>, AtomicUsize);

impl DocumentFetcher for PanickingFetcher {
    fn get(&self, url: &str) -> Result<FetchedDocument, DocumentFetchError> {
        assert_ne!(self.1.fetch_add(1, Ordering::SeqCst), 2, "the test's own panic");
        self.0.get(url)
    }
}

#[test]
fn a_fetch_that_panics_leaves_the_rest_working() {
    let key = signer("k");
    let token = key.token(&lasting());
    let fetch = Arc::new(PanickingFetcher(PublishedDocuments::new(&[&key]), AtomicUsize::new(0)));
    let issuer = TrustedIssuer::check(settings()).unwrap();
    let verifier = TokenVerifier::new(vec![issuer], fetch).unwrap();
    assert!(verifier.warm(at(0)).is_empty());
    thread::scope(|scope| {
        assert!(scope.spawn(|| verifier.refresh_keys(&token, at(HOUR))).join().is_err());
    });
    check(&verifier, &token, HOUR + 30, Some(&RejectionReason::NoKeys));
    assert!(verifier.refresh_keys(&token, at(HOUR + 30)));
    check(&verifier, &token, HOUR + 30, None);
}
