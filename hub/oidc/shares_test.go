package oidc_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/store/storetest"
)

// Of wrong codes from one network few are looked up: 200 refusals in a row are seen, after which
// nothing changes until ten thousand, and somebody elsewhere logs in meanwhile.
func TestWrongCodesAreCounted(t *testing.T) {
	b := newBed(t, storetest.SQLite(t), 1)
	b.user("bob@example.com")
	from := func(address, path string, form url.Values) *http.Request {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/oidc"+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-Test-From", address)
		r.SetBasicAuth(app, url.QueryEscape(secret))
		return r
	}
	looked, busy := 0, 0
	for n := range 10_000 {
		a := b.send(from("192.0.2.7:1", "/token", url.Values{"grant_type": {"authorization_code"}, "code": {"axo_c_" + strconv.Itoa(n)}}))
		switch {
		case a.text("error") == "invalid_grant":
			looked++
		case a.status == http.StatusTooManyRequests && strings.Contains(a.text("error_description"), "(pool signin_wrong)") && a.header.Get("Retry-After") != "":
			busy++
		default:
			t.Fatalf("%d %v", a.status, a.body)
		}
		if busy > 200 {
			break // the others get the same answer
		}
	}
	if looked > 200 || busy == 0 {
		t.Errorf("%d wrong codes were looked up, %d requests were refused", looked, busy)
	}
	code := b.visitor("bob@example.com").authorize(nil).Get("code")
	form := url.Values{"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {callback}, "code_verifier": {verifier}}
	if a := b.send(from("198.51.100.7:1", "/token", form)); a.status != http.StatusOK {
		t.Errorf("somebody elsewhere: %d %v", a.status, a.body)
	}
}

// The other shares are refused in the same way, each by its name.
func TestSharesOfSignInsAreNamed(t *testing.T) {
	b := newBed(t, storetest.SQLite(t), 1)
	for pool, request := range map[string]func() (status int, text string){
		"signin_browsers": func() (int, string) {
			v := b.visitor("")
			v.from = "192.0.2.9:1"
			v.get(b.url + "/oidc/authorize?client_id=none")
			return v.status, v.page
		},
		"signin_requests": func() (int, string) {
			a := b.send(b.get("/userinfo", "198.51.100.9:1"))
			return a.status, a.text("error_description")
		},
		"signin_devices": func() (int, string) {
			a := b.send(b.form("/device", "203.0.113.9:1", url.Values{"client_id": {native}, "scope": {"openid"}}))
			return a.status, a.text("error_description")
		},
		"signin_clients": func() (int, string) {
			n := b.next.Add(1)
			r := b.get("/token", fmt.Sprintf("10.%d.%d.1:1", n/250%250, n%250))
			r.Method, r.Body = http.MethodPost, http.NoBody
			r.SetBasicAuth(app, url.QueryEscape(secret))
			a := b.send(r)
			return a.status, a.text("error_description")
		},
	} {
		named := false
		for range 20_000 {
			status, text := request()
			if named = status == http.StatusTooManyRequests && strings.Contains(text, "(pool "+pool+")"); named {
				break
			}
		}
		if !named {
			t.Errorf("%s: nobody is refused by its name", pool)
		}
	}
}

func (b *bed) form(path, address string, form url.Values) *http.Request {
	r, err := http.NewRequestWithContext(b.T.Context(), http.MethodPost, b.url+"/oidc"+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.T.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("X-Test-From", address)
	return r
}

func (b *bed) get(path, address string) *http.Request {
	r, err := http.NewRequestWithContext(b.T.Context(), http.MethodGet, b.url+"/oidc"+path, nil)
	if err != nil {
		b.T.Fatal(err)
	}
	r.Header.Set("X-Test-From", address)
	return r
}
