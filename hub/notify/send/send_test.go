package send_test

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/axle-cd/axle/hub/notify/send"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/test/chatserver"
)

const hostile = "<!channel> <users/all> <https://evil.example|click> `x` ```y``` *b* [a](https://evil.example) & \u202e"

// worst is the longest message, of what attacks the formats.
func worst(text string) send.Content {
	c := send.Content{ID: "ntf_1", Event: "service.failed", Title: text, Others: 9990, LeftOut: 7, Cause: text, Router: "r", URL: "https://hub.example.com"}
	for i := range 10 {
		c.Objects = append(c.Objects, send.Object{Kind: "service", Name: fmt.Sprint(text, i), Event: "service.failed", Message: text, Changes: 3, Age: "10s", Command: "axle services get " + text})
	}
	return c
}

func sender() *send.Sender {
	return &send.Sender{Client: &http.Client{Transport: &http.Transport{}}, Clock: clock.Real{}, Version: "test"}
}

// What others wrote makes no link and mentions nobody, and fits, however long it is.
func TestChatsTakeEveryMessage(t *testing.T) {
	for name, text := range map[string]string{
		"plain": "it broke", "hostile": hostile, "long": strings.Repeat("x", 2000), "long and hostile": strings.Repeat("<&>`*_", 500), "empty": "",
		"wide": strings.Repeat("漢", 2000), "escapes": strings.Repeat("\x01", 2000), "quotes": strings.Repeat(`"\`, 1000),
	} {
		t.Run(name, func(t *testing.T) {
			s := chatserver.New()
			defer s.Close()
			c := worst(text)
			if text == "" {
				c.Title = "a service failed"
			}
			for _, target := range []send.Target{{Type: send.Slack, URL: s.URL + "/services/T0/B0/x"}, {Type: send.Teams, URL: s.URL + "/workflows/x"}, {Type: "DISCORD", URL: s.URL + "/api/webhooks/1/x"}, {Type: "GOOGLE_CHAT", URL: s.URL + "/v1/spaces/A/messages?key=k&token=t"}} {
				if r := sender().Send(t.Context(), target, c); !r.OK {
					t.Fatalf("%s: %+v", target.Type, r)
				}
			}
			slack := s.Accepted()[0]
			if m := chatserver.Mentions(slack); len(m) != 0 {
				t.Errorf("mentions %q", m)
			}
			if l := chatserver.Links(slack); len(l) != 1 || l[0] != "<https://hub.example.com|hub>" {
				t.Errorf("links %q", l)
			}
			if card := string(s.Accepted()[1]); strings.Contains(card, "](http") {
				t.Errorf("a link in the card: %s", card)
			}
			var m struct {
				Embeds []struct{ Title, Description string }
			}
			if err := json.Unmarshal(s.Accepted()[2], &m); err != nil || len(m.Embeds) != 1 {
				t.Fatalf("%v: %s", err, s.Accepted()[2])
			}
			// Discord shows what is between the fences as it is.
			if shown := m.Embeds[0].Title + regexp.MustCompile("(?s)```.*?```").ReplaceAllString(m.Embeds[0].Description, ""); strings.Contains(shown, "://") || strings.Contains(shown, "](") || strings.Contains(shown, "`y") && !strings.Contains(shown, "\\`y") {
				t.Errorf("a link or a format in the embed: %s", shown)
			}
			// A card of Google Chat is HTML, and the text beside it may mention people.
			var chat struct {
				Text    string
				CardsV2 []struct {
					Card struct {
						Sections []struct {
							Widgets []struct{ TextParagraph struct{ Text string } }
						}
					}
				}
			}
			if err := json.Unmarshal(s.Accepted()[3], &chat); err != nil || len(chat.CardsV2) != 1 {
				t.Fatalf("%v: %s", err, s.Accepted()[3])
			}
			shown := ""
			for _, section := range chat.CardsV2[0].Card.Sections {
				for _, w := range section.Widgets {
					shown += regexp.MustCompile(`<font color="#d92d20">|</font>`).ReplaceAllString(w.TextParagraph.Text, "") + "\n"
				}
			}
			if strings.ContainsAny(shown, "<>") || strings.Contains(shown+chat.Text, "://") || strings.Contains(chat.Text, "<u") || strings.Contains(chat.Text, "*b") {
				t.Errorf("a link, a tag or a mention: %s in %s", chat.Text, shown)
			}
			if plain := html.UnescapeString(shown); text != "" && !strings.Contains(plain, text[:4]) {
				t.Errorf("the card does not have %q: %s", text[:4], plain)
			}
		})
	}
}

func TestTestMessage(t *testing.T) {
	s := chatserver.New()
	defer s.Close()
	c := send.Content{ID: "ntf_1", Event: "test", Title: "a test", Test: true}
	for target, want := range map[send.Target]string{{Type: send.Slack, URL: s.URL + "/services/T0/B0/x"}: "200 OK: ok", {Type: send.Teams, URL: s.URL + "/workflows/x"}: "202 Accepted", {Type: "DISCORD", URL: s.URL + "/api/webhooks/1/x"}: "204 No Content", {Type: "GOOGLE_CHAT", URL: s.URL + "/v1/spaces/A/messages?key=k&token=t"}: `200 OK: {"name": "spaces/AAAA/messages/BBBB"}`} {
		if r := sender().Send(t.Context(), target, c); !r.OK || r.Answer != want {
			t.Errorf("%s: %+v", target.Type, r)
		}
	}
}

// TestEveryTypeHasAFormat fails for a type of sinks whose messages nobody renders.
func TestEveryTypeHasAFormat(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	for _, word := range append([]string{"PIGEON"}, rule.SinkTypes...) {
		r := sender().Send(t.Context(), send.Target{Type: send.Type(word), URL: s.URL}, worst("x"))
		if none := word == "PIGEON" || word == "PLURAL"; strings.Contains(r.Answer, "is no type") != none {
			t.Errorf("%s: %+v", word, r)
		}
	}
}

// The receiver's side of the signature, as the page for users has it.
func TestSignature(t *testing.T) {
	const secret = "0123456789abcdef"
	checked := make(chan error, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		want := "sha256=" + send.Signature(secret, r.Header.Get("Axle-Timestamp"), body)
		var c send.Content
		switch {
		case err != nil:
		case !hmac.Equal([]byte(want), []byte(r.Header.Get("Axle-Signature"))):
			err = fmt.Errorf("the signature is %q, want %q", r.Header.Get("Axle-Signature"), want)
		case json.Unmarshal(body, &c) != nil || c.ID != r.Header.Get("Idempotency-Key") || c.Event != r.Header.Get("Axle-Event"):
			err = fmt.Errorf("%v of %s", r.Header, body)
		}
		checked <- err
	}))
	defer s.Close()
	if r := sender().Send(t.Context(), send.Target{Type: send.Webhook, URL: s.URL, Secret: secret}, worst("x")); !r.OK {
		t.Fatal(r)
	}
	if err := <-checked; err != nil {
		t.Error(err)
	}
}

// hangs never answers.
type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, fmt.Errorf("%s %w", r.URL, r.Context().Err())
}

func TestDestinationThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &send.Sender{Client: &http.Client{Transport: hangs{}}, Clock: clock.Real{}}
		r := s.Send(t.Context(), send.Target{Type: send.Webhook, URL: "https://x.example.com/TOKEN"}, worst("x"))
		if r.OK || r.Permanent || r.Answer != "no answer within 10s" || time.Since(began) != 10*time.Second {
			t.Errorf("%+v after %v", r, time.Since(began))
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if r := s.Send(ended, send.Target{Type: send.Webhook, URL: "https://x.example.com/SECRET-PATH-0123456789"}, worst("x")); r.OK || strings.Contains(r.Answer, "SECRET-PATH") {
			t.Errorf("%+v", r)
		}
	})
}

// A certificate that is not trusted is an error, and no reason to send.
func TestUntrustedCertificate(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	defer s.Close()
	s.Config.ErrorLog = nil
	r := sender().Send(t.Context(), send.Target{Type: send.Slack, URL: s.URL + "/services/T0KENT0KENT0KENT0KEN"}, worst("x"))
	if r.OK || !strings.Contains(r.Answer, "certificate") || strings.Contains(r.Answer, "T0KEN") {
		t.Errorf("%+v", r)
	}
}

// An endless answer is cut.
func TestEndlessAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		for {
			if _, err := io.WriteString(w, strings.Repeat("no ", 1000)); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	if r := sender().Send(t.Context(), send.Target{Type: send.Webhook, URL: s.URL}, worst("x")); r.OK || r.Permanent || len(r.Answer) > 300 {
		t.Errorf("%+v", r)
	}
}
