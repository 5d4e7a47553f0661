package login_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/account"
	"github.com/axle-cd/axle/hub/login"
)

// softKey is an authenticator in the test's hands: it signs what a browser's
// never would.
type softKey struct {
	t       *testing.T
	hub     string
	user    string
	private *ecdsa.PrivateKey
	count   uint32
}

// addSoftKey gives a user such a passkey.
func (b *bed) addSoftKey(user identity.User) *softKey {
	b.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	raw, err := private.PublicKey.Bytes() // 4, X, Y
	if err != nil {
		b.t.Fatal(err)
	}
	// COSE: kty EC2, alg ES256, crv P-256, x, y.
	cose := append([]byte{0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21, 0x58, 0x20}, raw[1:33]...)
	cose = append(append(cose, 0x22, 0x58, 0x20), raw[33:]...)
	text, err := json.Marshal(webauthn.Credential{
		ID: []byte("soft"), PublicKey: cose, AttestationType: "none",
		Flags: webauthn.CredentialFlags{UserPresent: true, UserVerified: true}, Authenticator: webauthn.Authenticator{SignCount: 5},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	p := identity.Principal{Kind: identity.KindUser, ID: user.ID, Name: user.Name}
	if err := b.identity().AddPasskey(b.t.Context(), p, account.Passkey{ID: base64.RawURLEncoding.EncodeToString([]byte("soft")), Credential: string(text)}); err != nil {
		b.t.Fatal(err)
	}
	return &softKey{t: b.t, hub: b.URL, user: user.ID, private: private, count: 5}
}

// answer is what a page sends for a challenge.
func (k *softKey) answer(challenge, origin string, flags byte, count uint32) string {
	k.t.Helper()
	client, err := json.Marshal(map[string]any{"type": "webauthn.get", "challenge": challenge, "origin": origin})
	if err != nil {
		k.t.Fatal(err)
	}
	of := sha256.Sum256([]byte("localhost"))
	data := binary.BigEndian.AppendUint32(append(of[:], flags), count)
	hash := sha256.Sum256(client)
	digest := sha256.Sum256(append(append([]byte{}, data...), hash[:]...))
	signature, err := ecdsa.SignASN1(rand.Reader, k.private, digest[:])
	if err != nil {
		k.t.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	text, err := json.Marshal(map[string]any{
		"id": encode([]byte("soft")), "rawId": encode([]byte("soft")), "type": "public-key",
		"response": map[string]string{
			"clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(signature), "userHandle": encode([]byte(k.user)),
		},
	})
	if err != nil {
		k.t.Fatal(err)
	}
	return string(text)
}

// script sends a page's script's request.
func (v *visitor) script(path, csrf, body string) {
	v.t.Helper()
	r, err := http.NewRequestWithContext(v.t.Context(), http.MethodPost, v.absolute(path), strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(login.CSRFHeader, csrf)
	v.do(r)
}

// The passkey's answer counts once, for the challenge that the browser got,
// from the hub's own page, with user verification, and not from a copy of the
// key.
func TestPasskeysThatAreNotAccepted(t *testing.T) {
	b := localhostBed(t)
	user, err := b.identity().SetupLocal(t.Context(), b.setupToken(), owner, password)
	if err != nil {
		t.Fatal(err)
	}
	key := b.addSoftKey(user)
	const presentAndVerified = 0x05
	base, err := url.Parse(b.URL)
	if err != nil {
		t.Fatal(err)
	}
	begin := func() (v *visitor, csrf, challenge string) {
		t.Helper()
		v = b.visitor("198.51.100.71")
		v.get("/login")
		csrf = v.csrf()
		v.script("/login/passkey/options", csrf, "")
		var options struct {
			PublicKey struct {
				Challenge string `json:"challenge"`
			} `json:"publicKey"`
		}
		if err := json.Unmarshal([]byte(v.page), &options); err != nil || options.PublicKey.Challenge == "" {
			t.Fatalf("no challenge: %d %s", v.status, v.page)
		}
		return v, csrf, options.PublicKey.Challenge
	}
	for name, answer := range map[string]func(challenge string) string{
		"another challenge": func(string) string {
			return key.answer("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", b.URL, presentAndVerified, 9)
		},
		"another origin":      func(c string) string { return key.answer(c, "https://evil.example.com", presentAndVerified, 9) },
		"not verified":        func(c string) string { return key.answer(c, b.URL, 0x01, 9) },
		"a counter of before": func(c string) string { return key.answer(c, b.URL, presentAndVerified, 4) },
		"another key": func(c string) string {
			other := *key
			other.private, _ = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
			return other.answer(c, b.URL, presentAndVerified, 9)
		},
		"nobody": func(c string) string {
			other := *key
			other.user = "usr_nobody"
			return other.answer(c, b.URL, presentAndVerified, 9)
		},
	} {
		v, csrf, challenge := begin()
		v.script("/login/passkey", csrf, answer(challenge))
		if v.status != http.StatusUnauthorized || v.sessionCookie() != "" {
			t.Errorf("%s: %d %s", name, v.status, v.page)
		}
	}
	v, csrf, challenge := begin()
	kept := v.client.Jar.Cookies(base)
	good := key.answer(challenge, b.URL, presentAndVerified, 9)
	v.script("/login/passkey", csrf, good)
	if who := v.who(); who != owner {
		t.Fatalf("the passkey as it should be: %q", who)
	}
	again := b.visitor("198.51.100.71")
	again.client.Jar.SetCookies(base, kept)
	later := key.answer(challenge, b.URL, presentAndVerified, 10)
	again.script("/login/passkey", csrf, later)
	if again.status != http.StatusUnauthorized || again.sessionCookie() != "" {
		t.Errorf("a challenge was answered twice: %d %s", again.status, again.page)
	}
}
