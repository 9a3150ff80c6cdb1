//! The table of secrets with a known form. Only data; `search` applies it.

use crate::forms;
use std::ops::Range;

/// One kind of secret.
pub(crate) struct SecretRule {
    /// Its name in redaction markers.
    pub(crate) kind: &'static str,
    /// Texts whose occurrences are checked, case-sensitive.
    pub(crate) anchors: &'static [&'static str],
    /// What must surround the anchor.
    pub(crate) shape: SecretShape,
}

/// What a secret looks like from its anchor on.
pub(crate) enum SecretShape {
    /// The anchor, followed by a number of characters of one class within the range.
    Run(CharacterClass, u16, u16),
    /// A regular expression that begins at the anchor, or some bytes before it. Group 1 is the secret, if there is one.
    Pattern(usize, &'static str),
    /// Functions for what regular expressions can't express: one for documents, one for logs.
    Form(FindSecret, FindSecret),
}

/// Gets the text and the start of the anchor.
type FindSecret = fn(&str, usize) -> Option<Range<usize>>;

/// Characters of the random part of a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CharacterClass {
    /// `0-9 a-f`
    Hex,
    /// `A-Z 0-9`
    Upper,
    /// `A-Z a-z 0-9`
    Alnum,
    /// `A-Z a-z 0-9 _ -`
    Url,
    /// `A-Z a-z 0-9 _ - . =`
    Dotted,
    /// `A-Z a-z 0-9 + / =`
    Base64,
}

impl CharacterClass {
    pub(crate) fn has(self, byte: u8) -> bool {
        match self {
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'=')
            }
            Self::Base64 => byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='),
        }
    }
}

const fn run(
    kind: &'static str,
    anchors: &'static [&'static str],
    class: CharacterClass,
    length: (u16, u16),
) -> SecretRule {
    SecretRule { kind, anchors, shape: SecretShape::Run(class, length.0, length.1) }
}

const fn pattern(
    kind: &'static str,
    anchors: &'static [&'static str],
    back: usize,
    regex: &'static str,
) -> SecretRule {
    SecretRule { kind, anchors, shape: SecretShape::Pattern(back, regex) }
}

const fn form(
    kind: &'static str,
    anchors: &'static [&'static str],
    find: FindSecret,
) -> SecretRule {
    SecretRule { kind, anchors, shape: SecretShape::Form(find, find) }
}

const fn two_forms(
    kind: &'static str,
    anchors: &'static [&'static str],
    careful: FindSecret,
    eager: FindSecret,
) -> SecretRule {
    SecretRule { kind, anchors, shape: SecretShape::Form(careful, eager) }
}

/// All known forms. Of two that match at the same position, the earlier row names the kind.
pub(crate) const RULES: &[SecretRule] = &[
    form("private key", &["-----BEGIN "], forms::pem),
    form("private key", &["Private-Lines:"], forms::putty),
    run("age secret key", &["AGE-SECRET-KEY-1"], CharacterClass::Upper, (58, 58)),
    form("jwt", &["eyJ"], forms::jwt),
    two_forms("password in a url", &["://"], forms::url_password, forms::url_userinfo),
    // Clouds.
    run("aws access key id", &["AKIA", "ASIA", "ABIA", "ACCA"], CharacterClass::Upper, (16, 16)),
    run("google api key", &["AIza"], CharacterClass::Url, (35, 35)),
    run("google oauth client secret", &["GOCSPX-"], CharacterClass::Url, (28, 28)),
    run("google oauth token", &["ya29."], CharacterClass::Url, (30, 1024)),
    pattern("google refresh token", &["1//0"], 0, r"1//0[A-Za-z0-9_-]{40,128}"),
    pattern("azure storage key", &["AccountKey="], 0, r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    pattern("azure access key", &["SharedAccessKey="], 0, r"SharedAccessKey=([A-Za-z0-9+/]{43}=)"),
    pattern(
        "azure shared access signature",
        &["sig="],
        0,
        r"sig=([A-Za-z0-9+/]{20}[A-Za-z0-9%+/]{20,60}(?:=|%3[Dd]))",
    ),
    pattern(
        "azure client secret",
        &["8Q~", "7Q~"],
        3,
        r"[A-Za-z0-9_~.]{3}[78]Q~[A-Za-z0-9_~.-]{31,34}",
    ),
    run("digitalocean token", &["dop_v1_", "doo_v1_", "dor_v1_"], CharacterClass::Hex, (64, 64)),
    run("heroku api key", &["HRKU-"], CharacterClass::Url, (36, 70)),
    run("alibaba access key id", &["LTAI"], CharacterClass::Alnum, (20, 20)),
    run("tencent secret id", &["AKID"], CharacterClass::Alnum, (32, 32)),
    run("fly.io token", &["fo1_"], CharacterClass::Url, (40, 128)),
    run("fly.io token", &["fm1r_", "fm2_", "fm1a_"], CharacterClass::Base64, (100, 4096)),
    run(
        "planetscale token",
        &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"],
        CharacterClass::Dotted,
        (32, 64),
    ),
    run("supabase key", &["sbp_"], CharacterClass::Hex, (40, 40)),
    run("supabase key", &["sb_secret_"], CharacterClass::Url, (30, 64)),
    run("cloudflare origin key", &["v1.0-"], CharacterClass::Url, (160, 200)),
    run(
        "tailscale key",
        &["tskey-auth-", "tskey-api-", "tskey-client-"],
        CharacterClass::Url,
        (20, 96),
    ),
    // Code hosts, builds and packages.
    run(
        "github token",
        &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        CharacterClass::Alnum,
        (36, 255),
    ),
    pattern("github token", &["github_pat_"], 0, r"github_pat_[A-Za-z0-9_]{36,255}"),
    run(
        "gitlab token",
        &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "gloas-",
            "glagent-", "glimt-",
        ],
        CharacterClass::Dotted,
        (20, 320),
    ),
    run("bitbucket token", &["ATBB"], CharacterClass::Alnum, (32, 32)),
    run("atlassian token", &["ATATT3", "ATCTT3"], CharacterClass::Dotted, (100, 512)),
    run("npm token", &["npm_"], CharacterClass::Alnum, (36, 36)),
    pattern(
        "npm credential",
        &[":_authToken", "\n_authToken", ":_password", "\n_password", ":_auth", "\n_auth"],
        0,
        r"[:\n]_(?:authToken|password|auth)[ \t]{0,4}=[ \t]{0,4}([A-Za-z0-9+/=_.-]{8,512})",
    ),
    run("pypi token", &["pypi-Ag"], CharacterClass::Url, (60, 512)),
    run("rubygems key", &["rubygems_"], CharacterClass::Hex, (48, 48)),
    run("crate registry token", &["cio"], CharacterClass::Alnum, (32, 32)),
    run("nuget key", &["oy2"], CharacterClass::Alnum, (43, 43)),
    run("clojars token", &["CLOJARS_"], CharacterClass::Alnum, (60, 60)),
    run("docker token", &["dckr_pat_", "dckr_oat_"], CharacterClass::Url, (27, 64)),
    run("artifactory key", &["AKCp"], CharacterClass::Alnum, (60, 80)),
    run("circleci token", &["CCIPAT_", "CCIPRJ_"], CharacterClass::Url, (40, 80)),
    run("buildkite token", &["bkua_", "bkpt_"], CharacterClass::Hex, (40, 40)),
    run(
        "doppler token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim."],
        CharacterClass::Dotted,
        (40, 80),
    ),
    run("pulumi token", &["pul-"], CharacterClass::Hex, (40, 40)),
    pattern(
        "terraform token",
        &[".atlasv1."],
        14,
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,80}",
    ),
    run("vault token", &["hvs.", "hvb.", "hvr."], CharacterClass::Url, (24, 256)),
    run("sourcegraph token", &["sgp_"], CharacterClass::Alnum, (40, 64)),
    run("databricks token", &["dapi"], CharacterClass::Hex, (32, 32)),
    run("sentry token", &["sntryu_"], CharacterClass::Hex, (64, 64)),
    run("sentry token", &["sntrys_eyJ"], CharacterClass::Dotted, (60, 400)),
    run("grafana token", &["glsa_"], CharacterClass::Url, (40, 48)),
    run("grafana token", &["glc_eyJ"], CharacterClass::Base64, (60, 400)),
    run("new relic key", &["NRAK-", "NRII-"], CharacterClass::Url, (27, 40)),
    run("dynatrace token", &["dt0c01.", "dt0s16.", "dt0s08."], CharacterClass::Dotted, (80, 128)),
    run("postman key", &["PMAK-"], CharacterClass::Url, (59, 59)),
    // Messages and mail.
    pattern(
        "slack token",
        &[
            "xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xoxo-", "xoxd-",
            "xoxc-", "xapp-",
        ],
        0,
        r"(?:xox[a-z][.-]|xapp-)[A-Za-z0-9%+/-]{12,512}",
    ),
    pattern(
        "slack webhook",
        &["hooks.slack.com/"],
        0,
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{24,160})",
    ),
    pattern(
        "discord webhook",
        &["discord.com/api/", "discordapp.com/api/"],
        0,
        r"discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/([0-9]{15,22}/[A-Za-z0-9_-]{40,100})",
    ),
    pattern(
        "discord token",
        &["MD", "MT", "Mj", "Mz", "ND", "NT", "Nj", "Nz", "OD", "OT"],
        0,
        r"[MNO][DTjz][AEIMQUYcgk][A-Za-z0-9_-]{20,25}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,38}",
    ),
    pattern("telegram bot token", &[":AA"], 10, r"[0-9]{10}:AA[A-Za-z0-9_-]{33}"),
    pattern("telegram bot token", &[":AA"], 9, r"[0-9]{9}:AA[A-Za-z0-9_-]{33}"),
    pattern("telegram bot token", &[":AA"], 8, r"[0-9]{8}:AA[A-Za-z0-9_-]{33}"),
    pattern(
        "teams webhook",
        &[".webhook.office.com/"],
        0,
        r"\.webhook\.office\.com/(webhookb2/[A-Za-z0-9@/-]{80,200})",
    ),
    pattern("sendgrid key", &["SG."], 0, r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    run("twilio key", &["SK"], CharacterClass::Hex, (32, 32)),
    run("mailgun key", &["key-"], CharacterClass::Hex, (32, 32)),
    pattern("mailchimp key", &["-us"], 32, r"[0-9a-f]{32}-us[0-9]{1,2}"),
    pattern(
        "brevo key",
        &["xkeysib-", "xsmtpsib-"],
        0,
        r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}",
    ),
    // Payment and trade.
    run(
        "stripe key",
        &["sk_live_", "rk_live_", "sk_test_", "rk_test_", "sk_org_", "sk_prod_"],
        CharacterClass::Alnum,
        (16, 255),
    ),
    run("stripe webhook secret", &["whsec_"], CharacterClass::Base64, (24, 128)),
    run(
        "shopify token",
        &["shpat_", "shpca_", "shppa_", "shpss_"],
        CharacterClass::Alnum,
        (32, 38),
    ),
    run("square token", &["sq0atp-", "sq0csp-", "sq0idp-"], CharacterClass::Url, (22, 60)),
    run("easypost key", &["EZAK", "EZTK"], CharacterClass::Alnum, (54, 54)),
    run("shippo token", &["shippo_live_", "shippo_test_"], CharacterClass::Hex, (40, 40)),
    run("flutterwave key", &["FLWSECK-", "FLWSECK_TEST-"], CharacterClass::Url, (32, 48)),
    // Models.
    run("anthropic key", &["sk-ant-"], CharacterClass::Url, (24, 256)),
    run(
        "openai key",
        &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"],
        CharacterClass::Url,
        (24, 256),
    ),
    run("openrouter key", &["sk-or-v1-"], CharacterClass::Hex, (64, 64)),
    run("openai key", &["sk-"], CharacterClass::Alnum, (32, 128)),
    run("hugging face token", &["hf_", "api_org_"], CharacterClass::Alnum, (30, 48)),
    run("groq key", &["gsk_"], CharacterClass::Alnum, (40, 64)),
    run("xai key", &["xai-"], CharacterClass::Alnum, (60, 100)),
    run("perplexity key", &["pplx-"], CharacterClass::Alnum, (40, 64)),
    run("replicate token", &["r8_"], CharacterClass::Alnum, (37, 37)),
    // Everyday services.
    run("linear key", &["lin_api_", "lin_oauth_"], CharacterClass::Alnum, (32, 64)),
    run("notion token", &["ntn_", "secret_"], CharacterClass::Alnum, (43, 50)),
    run("figma token", &["figd_", "figu_"], CharacterClass::Url, (36, 80)),
    run("typeform token", &["tfp_"], CharacterClass::Dotted, (40, 80)),
    run("contentful token", &["CFPAT-"], CharacterClass::Url, (43, 43)),
    run("dropbox token", &["sl.B", "sl.u."], CharacterClass::Url, (100, 1400)),
    run("1password token", &["ops_eyJ"], CharacterClass::Dotted, (100, 1500)),
    run("readme key", &["rdme_"], CharacterClass::Alnum, (70, 70)),
    // Passwords in protocols and files.
    form("bot token", &["Bot ", "Token ", "token "], forms::header_token),
    two_forms("bearer token", &["Bearer", "bearer", "BEARER"], forms::bearer, forms::after_scheme),
    two_forms(
        "basic credentials",
        &["Basic ", "basic ", "BASIC "],
        forms::basic,
        forms::after_scheme,
    ),
    form("docker credentials", &["\"auth\"", "\"auth\\\""], forms::docker),
    pattern(
        "netrc password",
        &["machine "],
        0,
        r"machine[ \t]+[^\s]{1,128}\s+login\s+[^\s]{1,128}\s+password\s+([^\s]{1,128})",
    ),
];
