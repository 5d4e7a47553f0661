package application

import (
	"testing"
)

func TestURIsLieBelowDomains(t *testing.T) {
	domains := []string{"shop.example.com"}
	for uri, allowed := range map[string]bool{
		"https://shop.example.com/cb":               true,
		"https://SHOP.example.com/cb":               true,
		"https://wiki.shop.example.com:8443/cb?a=b": true,
		"http://127.0.0.1:8000/cb":                  true,
		"http://[::1]/cb":                           true,
		"http://localhost/cb":                       true,

		"https://shop.example.com.evil.test/cb":        false,
		"https://evilshop.example.com/cb":              false,
		"https://example.com/cb":                       false,
		"https://shop.example.com./cb":                 false,
		"http://shop.example.com/cb":                   false,
		"https://shop.example.com/cb#fragment":         false,
		"https://shop.example.com/cb#":                 false,
		"https://*.shop.example.com/cb":                false,
		"https://shop.example.com/*":                   false,
		"https://user@shop.example.com/cb":             false,
		"https://shop.example.com@evil.test/cb":        false,
		"https://evil.test\\@shop.example.com/cb":      false,
		"https://shop.example.com/a/../cb":             false,
		"https://shop.example.com/a/%2e%2e/cb":         false,
		"https://shop.example.com/cb\n":                false,
		"https://shop.example.com/ cb":                 false,
		"https://shоp.example.com/cb":                  false,
		"//shop.example.com/cb":                        false,
		"/cb":                                          false,
		"javascript:alert(1)":                          false,
		"com.example.app:/cb":                          false,
		"https:shop.example.com":                       false,
		"http://127.0.0.1.evil.test/cb":                false,
		"http://localhost.evil.test/cb":                false,
		"http://127.0.0.2/cb":                          false,
		"https://127.0.0.1/cb":                         false,
		"http://169.254.169.254/latest":                false,
		"data:text/html,<script>alert(1)</script>":     false,
		"https://shop.example.com/cb?next=<evil.test>": false,
	} {
		if err := checkURI("redirectUris", uri, domains, true); (err == nil) != allowed {
			t.Errorf("%s: %v, allowed should be %v", uri, err, allowed)
		}
	}
	if checkURI("redirectUris", "https://shop.example.com/cb", nil, true) == nil || checkURI("backChannelLogoutUri", "http://127.0.0.1/out", domains, false) == nil {
		t.Error("a URI is allowed without a domain")
	}
	had := Settings{RedirectURIs: []string{"https://old.example.com/cb"}}
	if err := had.checkURIs(had, nil); err != nil {
		t.Errorf("what was allowed once: %v", err)
	}
}

func TestNamesDoNotLookLikeTheHubs(t *testing.T) {
	own := []string{"hub.acme.test", "hub"}
	for name, allowed := range map[string]bool{
		"Wiki": true, "grafana": true, "Вики": true, "東京": true, "Shop of the north": true, "taxlegal": true, "axles": true, "github": true, "": true,
		"Axle": false, "axle": false, "AXLE": false, "Axle Hub": false, "axle-hub": false, "Sign in to Axle": false, "AxIe": false, "ax1e": false, "a x l e": false, "A.x.l.e": false, "Axlé": false,
		"ａｘｌｅ": false, "Ахӏе": false, "Αxle": false, "Axlе": false, "A\u200bxle": false, "Wікi": false, "hub": false, "hub.acme.test": false, "Hub Acme Test": false, "нub": false,
	} {
		if err := checkLooks("title", name, own); (err == nil) != allowed {
			t.Errorf("%q: %v, allowed should be %v", name, err, allowed)
		}
	}
}

func TestSettingsAreChecked(t *testing.T) {
	for what, s := range map[string]Settings{
		"a long access token": {AccessLifetime: "61m"}, "a long ID token": {IDLifetime: "10m1s"}, "a short refresh token": {RefreshLifetime: "1s"}, "no duration": {IDLifetime: "soon"},
		"no cluster": {Namespace: "web"}, "no e-mail address": {Users: []string{"ada"}}, "a group of Kubernetes": {Groups: []string{"system:masters"}}, "a title that hides": {Title: "a\u202eb"},
	} {
		if s.check("wiki", false) == nil {
			t.Errorf("%s is allowed", what)
		}
	}
	for what, s := range map[string]Settings{
		"no namespace": {}, "no Secret": {Namespace: "web", Secret: "A"}, "no key": {Namespace: "web", IssuerKey: "a/b"}, "a key twice": {Namespace: "web", IssuerKey: "clientId"},
	} {
		if s.check("wiki", true) == nil {
			t.Errorf("%s is allowed on a cluster", what)
		}
	}
	if err := (Settings{Namespace: "web", AccessLifetime: "1h", IDLifetime: "10m", RefreshLifetime: "2160h", Users: []string{"ada@example.com"}, Groups: []string{"dev/web"}}).check("wiki", true); err != nil {
		t.Error(err)
	}
}
