package observe_test

import (
	"strings"
	"testing"

	"github.com/axle-cd/axle/hub/observe"
)

func TestTemplatesOfLinksAreChecked(t *testing.T) {
	for template, want := range map[string]string{
		"https://grafana.example.com/d/pods?var-pod={pod}&from={from}&to={to}":                              "",
		"http://10.0.0.1:3000/d/x?orgId=1":                                                                  "",
		"https://kibana.example.com/app/discover#/?_a=(query:(language:kuery,query:%27pod:%22{pod}%22%27))": "",
		"https://grafana.example.com":                                                                       "",

		"javascript:alert({pod})":                                  "does not begin with https://",
		"//grafana.example.com/{pod}":                              "does not begin with https://",
		"https://{cluster}.example.com/":                           "a host without placeholders",
		"https://grafana.example.com{pod}":                         "a host without placeholders",
		"https://user:secret@grafana.example.com/":                 "a host without placeholders",
		"https://grafana.example.com/{token}":                      "{token} is no placeholder",
		"https://grafana.example.com/{}":                           "{} is no placeholder",
		"https://grafana.example.com/{pod":                         "belongs to no placeholder",
		"https://grafana.example.com/ {pod}":                       "has spaces",
		"https://grafana.example.com/\"><script>":                  "has spaces, quotes",
		"https://grafana.example.com/" + strings.Repeat("x", 1000): "at most 1000",
	} {
		_, err := observe.ParseLink("Grafana@pod=" + template)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v, want %q", template, err, want)
		}
	}
	for text, want := range map[string]string{
		"https://x.example.com/":               "use TITLE@PLACE",
		"Grafana=https://x.example.com/":       "use TITLE@PLACE",
		"Grafana@=https://x.example.com/":      "cluster, service",
		"Grafana@node=https://x.example.com/":  `"node" is not where`,
		"Gra\nfana@pod=https://x.example.com/": "use TITLE@PLACE",
	} {
		if _, err := observe.ParseLink(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// A value stays one part of the URL, or there is no link.
func TestValuesOfLinksCannotBreakOut(t *testing.T) {
	link, err := observe.ParseLink("Grafana@alert, pod=https://grafana.example.com/d/{namespace}?var={alert}")
	if err != nil {
		t.Fatal(err)
	}
	o := alertObserver(t, &directAgents{}, link)
	for value, want := range map[string]string{
		"KubePodCrashLooping": "https://grafana.example.com/d/shop?var=KubePodCrashLooping",
		"Out of stock":        "https://grafana.example.com/d/shop?var=Out%20of%20stock",
		"job:rate/5m":         "https://grafana.example.com/d/shop?var=job%3Arate%2F5m",
		"":                    "",
		"a&orgId=2":           "",
		"a#x":                 "",
		"a\"'<script>":        "",
		"x') or ('1":          "",
		"../../admin":         "",
		"..":                  "",
		"é":                   "",
		"a\nb":                "",
		"%2e%2e":              "",
		"{pod}":               "",
	} {
		links := o.Links(observe.Place{On: "alert", Namespace: "shop", Alert: value})
		got := ""
		if len(links) > 0 {
			got = links[0].URL
		}
		if got != want {
			t.Errorf("%q makes %q, want %q", value, got, want)
		}
	}
	if links := o.Links(observe.Place{On: "cluster", Namespace: "shop", Alert: "A"}); len(links) > 0 {
		t.Errorf("at another place: %v", links)
	}
}

func TestLinksOfAlertsAreSafe(t *testing.T) {
	for text, want := range map[string]string{
		"https://example.com/a?b=c#d":   "https://example.com/a?b=c#d",
		" http://10.0.0.1/x ":           "http://10.0.0.1/x",
		"JavaScript:alert(1)":           "",
		"data:text/html,<script>":       "",
		"//example.com/x":               "",
		"/x":                            "",
		"https:///x":                    "",
		"https://a@example.com/":        "",
		"https://example.com/\u202egpj": "",
		"https://example.com/a b":       "",
		"see the wiki":                  "",
		"https://example.com/" + strings.Repeat("x", 2000): "",
	} {
		if got := observe.SafeLink(text); got != want {
			t.Errorf("%.60q is %q, want %q", text, got, want)
		}
	}
}
