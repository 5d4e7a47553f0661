// Package chatserver checks messages as the incoming webhooks of Slack, Microsoft Teams,
// Discord and Google Chat do. Tests of notifications run it; README.md says what it does not cover.
package chatserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
)

// maxTeams is the largest message that a workflow takes, and maxGoogleChat that a space
// takes, in bytes.
const maxTeams, maxGoogleChat = 28 << 10, 32_000

// Server is all of them.
type Server struct {
	*httptest.Server
	mu       sync.Mutex
	accepted [][]byte
}

// New starts a server. The caller closes it.
func New() *Server {
	s := &Server{}
	mux := http.NewServeMux()
	mux.HandleFunc("/services/", s.take(slack, http.StatusOK, "ok"))
	mux.HandleFunc("/workflows/", s.take(teams, http.StatusAccepted, ""))
	mux.HandleFunc("/api/webhooks/", s.take(discord, http.StatusNoContent, ""))
	mux.HandleFunc("/v1/spaces/", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("key") == "" || q.Get("token") == "" {
			http.Error(w, `{"error": {"code": 403, "status": "PERMISSION_DENIED"}}`, http.StatusForbidden)
			return
		}
		s.take(googleChat, http.StatusOK, `{"name": "spaces/AAAA/messages/BBBB"}`)(w, r)
	})
	s.Server = httptest.NewServer(mux)
	return s
}

// Accepted returns the messages that were taken, oldest first.
func (s *Server) Accepted() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte{}, s.accepted...)
}

func (s *Server) take(check func([]byte) error, status int, answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		if err == nil && (r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json") {
			err = fmt.Errorf("invalid_request")
		}
		if err == nil {
			err = check(text)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		s.accepted = append(s.accepted, text)
		s.mu.Unlock()
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}
}

type text struct {
	Type, Text string
}

func slack(body []byte) error {
	var m struct {
		Text   string
		Blocks []struct {
			Type     string
			Text     text
			Elements []text
		}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return fmt.Errorf("invalid_payload")
	}
	if m.Text == "" {
		return fmt.Errorf("no_text")
	}
	if len(m.Blocks) > 50 {
		return fmt.Errorf("invalid_blocks: %d", len(m.Blocks))
	}
	for _, b := range m.Blocks {
		n := len([]rune(b.Text.Text))
		switch b.Type {
		case "section":
			if b.Text.Type != "mrkdwn" || n == 0 || n > 3000 {
				return fmt.Errorf("invalid_blocks: section of %d", n)
			}
		case "context":
			if len(b.Elements) == 0 || len(b.Elements) > 10 {
				return fmt.Errorf("invalid_blocks: context of %d", len(b.Elements))
			}
		default:
			return fmt.Errorf("invalid_blocks: %s", b.Type)
		}
	}
	return nil
}

func teams(body []byte) error {
	var m struct {
		Type        string
		Attachments []struct {
			ContentType string
			Content     struct {
				Type, Version string
				Body          []text
			}
		}
	}
	if len(body) > maxTeams {
		return fmt.Errorf("the message has %d bytes", len(body))
	}
	if err := json.Unmarshal(body, &m); err != nil || m.Type != "message" || len(m.Attachments) != 1 {
		return fmt.Errorf("the property 'attachments' is missing")
	}
	a := m.Attachments[0]
	if a.ContentType != "application/vnd.microsoft.card.adaptive" || a.Content.Type != "AdaptiveCard" || a.Content.Version != "1.4" || len(a.Content.Body) == 0 {
		return fmt.Errorf("invalid adaptive card")
	}
	for _, b := range a.Content.Body {
		if b.Type != "TextBlock" || b.Text == "" {
			return fmt.Errorf("invalid element %q", b.Type)
		}
	}
	return nil
}

// discord knows the limits of embeds, and refuses a message that may mention somebody.
func discord(body []byte) error {
	var m struct {
		Content string
		Embeds  []struct {
			Title, Description, URL string
			Footer                  struct{ Text string }
		}
		Mentions *struct{ Parse []string } `json:"allowed_mentions"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return fmt.Errorf("50109: the request body contains invalid JSON")
	}
	if m.Content == "" && len(m.Embeds) == 0 {
		return fmt.Errorf("50006: cannot send an empty message")
	}
	if m.Mentions == nil || len(m.Mentions.Parse) > 0 {
		return fmt.Errorf("mentions are allowed")
	}
	total := 0
	for _, e := range m.Embeds {
		for text, most := range map[string]int{e.Title: 256, e.Description: 4096, e.Footer.Text: 2048} {
			if n := len([]rune(text)); n > most {
				return fmt.Errorf("50035: a text of %d characters, at most %d are allowed", n, most)
			}
		}
		if total += len([]rune(e.Title + e.Description + e.Footer.Text)); total > 6000 || e.Title == "" {
			return fmt.Errorf("50035: embeds of %d characters", total)
		}
	}
	return nil
}

// googleChat refuses fields that it does not know, as Google's APIs do, and what is too long.
func googleChat(body []byte) error {
	var m struct {
		Text    string
		CardsV2 []struct {
			CardID string
			Card   struct {
				Sections []struct {
					Widgets []struct {
						TextParagraph *struct{ Text string }
						ButtonList    *struct {
							Buttons []struct {
								Text    string
								OnClick struct{ OpenLink struct{ URL string } }
							}
						}
					}
				}
			}
		}
	}
	if len(body) > maxGoogleChat {
		return fmt.Errorf("INVALID_ARGUMENT: the message has %d bytes", len(body))
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return fmt.Errorf("INVALID_ARGUMENT: invalid JSON payload received: %w", err)
	}
	if n := len([]rune(m.Text)); n > 4096 || m.Text == "" && len(m.CardsV2) == 0 {
		return fmt.Errorf("INVALID_ARGUMENT: a text of %d characters", n)
	}
	for _, c := range m.CardsV2 {
		if c.CardID == "" || len(c.Card.Sections) == 0 {
			return fmt.Errorf("INVALID_ARGUMENT: a card without an id or sections")
		}
		n := 0
		for _, s := range c.Card.Sections {
			if len(s.Widgets) == 0 {
				return fmt.Errorf("INVALID_ARGUMENT: a section without widgets")
			}
			for _, w := range s.Widgets {
				if (w.TextParagraph == nil) == (w.ButtonList == nil) || w.TextParagraph != nil && w.TextParagraph.Text == "" {
					return fmt.Errorf("INVALID_ARGUMENT: an invalid widget")
				}
			}
			n += len(s.Widgets)
		}
		if n > 100 {
			return fmt.Errorf("INVALID_ARGUMENT: %d widgets", n)
		}
	}
	return nil
}

var (
	mention = regexp.MustCompile(`<[!@#][^>]*>`)
	link    = regexp.MustCompile(`<https?:[^>]*>`)
)

// Mentions returns what Slack would make mentions of.
func Mentions(message []byte) []string { return mention.FindAllString(string(message), -1) }

// Links returns what Slack would make links of.
func Links(message []byte) []string { return link.FindAllString(string(message), -1) }
