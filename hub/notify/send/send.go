package send

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/scrub"
)

// Type is the kind of destination, by which a message is rendered.
type Type string

// Types that others name.
const (
	Slack   Type = "SLACK"
	Teams   Type = "TEAMS"
	Webhook Type = "WEBHOOK"
)

// formats are how messages are rendered, and the largest body in bytes that a destination
// takes, 0 for no limit: objects are left out until a message fits.
var formats = map[Type]struct {
	body func(Content) any
	most int
}{
	Slack: {slack, 0}, Teams: {teams, maxCard}, "DISCORD": {discord, 0}, "GOOGLE_CHAT": {googleChat, maxGoogleChat},
	Webhook: {func(c Content) any { return c }, 0},
}

// Target is where a message goes. All of it is secret.
type Target struct {
	Type Type   `json:"-"`
	URL  string `json:"url"`
	// Secret signs deliveries of Webhook; empty signs none.
	Secret string `json:"secret,omitempty"`
}

const (
	// limit is the time for one delivery.
	limit = 10 * time.Second
	// maxAnswer is how much of an answer is read, and maxShown how much is shown.
	maxAnswer, maxShown = 4 << 10, 200
	// maxWait limits what a destination may ask for with Retry-After.
	maxWait = time.Hour
)

// Result is the end of one attempt.
type Result struct {
	// Answer is what the destination said, or why there is no answer.
	Answer string
	// OK is set when the message was delivered.
	OK bool
	// Permanent is set when another attempt would fail, too.
	Permanent bool
	// After is how long the destination asks to wait; 0 is not said.
	After time.Duration
}

// Sender delivers messages. Its Client decides which addresses are allowed.
type Sender struct {
	Client  *http.Client
	Clock   clock.Clock
	Version string
}

// Send delivers a message once.
func (s *Sender) Send(ctx context.Context, t Target, c Content) Result {
	hide := t.scrubber()
	body, err := render(t.Type, c)
	if err != nil {
		return Result{Answer: "the message cannot be rendered: " + err.Error(), Permanent: true}
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(body))
	if err != nil {
		return Result{Answer: "the URL is not valid", Permanent: true}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "axle-hub/"+s.Version)
	if t.Type == Webhook {
		s.sign(r, t.Secret, c, body)
	}
	client := *s.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := client.Do(r)
	if err != nil {
		return Result{Answer: hide(reason(ctx, err))}
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // the status is enough
	return result(answer, hide(line(string(text))), s.Clock.Now())
}

// sign adds the headers of a webhook delivery. The signature covers the time, so that an
// old delivery cannot be sent again later.
func (s *Sender) sign(r *http.Request, secret string, c Content, body []byte) {
	at := strconv.FormatInt(s.Clock.Now().Unix(), 10)
	r.Header.Set("Idempotency-Key", c.ID)
	r.Header.Set("Axle-Event", c.Event)
	r.Header.Set("Axle-Timestamp", at)
	if secret != "" {
		r.Header.Set("Axle-Signature", "sha256="+Signature(secret, at, body))
	}
}

// Signature is the HMAC-SHA256 of the time, a dot and the body, in hexadecimal digits.
func Signature(secret, at string, body []byte) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(at + "."))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

func render(f Type, c Content) ([]byte, error) {
	format, ok := formats[f]
	if !ok {
		return nil, fmt.Errorf("%s is no type", f)
	}
	for {
		text, err := marshal(format.body(c))
		if n := len(c.Objects); err != nil || format.most == 0 || len(text) <= format.most || n == 0 {
			return text, err
		}
		c.Objects, c.Others = c.Objects[:len(c.Objects)-1], c.Others+1
	}
}

// marshal is JSON without escapes for HTML, which is not what any of them shows.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(out.Bytes()), err
}

func result(a *http.Response, text string, now time.Time) Result {
	out := Result{Answer: strings.TrimSuffix(a.Status+": "+text, ": ")}
	switch code := a.StatusCode; {
	case code >= 200 && code < 300:
		out.OK = true
	case code >= 300 && code < 400:
		out.Answer, out.Permanent = a.Status+": redirects are not followed; give the final URL", true
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests || code >= 500:
		out.After = retryAfter(a.Header.Get("Retry-After"), now)
	default:
		out.Permanent = true
	}
	return out
}

func retryAfter(text string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.Atoi(text); err == nil {
		wait = time.Duration(min(seconds, int(maxWait/time.Second))) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		wait = at.Sub(now)
	}
	return min(max(wait, 0), maxWait)
}

// reason is why there is no answer, without the URL that errors of net/http begin with.
func reason(ctx context.Context, err error) string {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("no answer within %s", limit)
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err
	}
	return line(err.Error())
}

// line makes text of others one short line.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxShown {
		text = string(runes[:maxShown]) + "…"
	}
	return text
}

// scrubber removes the URL, its parts and the signing key from what a destination says.
func (t Target) scrubber() func(string) string {
	secrets := map[string]string{"url": t.URL, "secret": t.Secret}
	if u, err := url.Parse(t.URL); err == nil {
		secrets["path"], secrets["query"] = u.EscapedPath(), u.RawQuery
		secrets["decoded path"] = u.Path
		for i, part := range strings.Split(u.EscapedPath(), "/") {
			if len(part) >= 16 { // the tokens of the known services; a word is no secret
				secrets["path "+strconv.Itoa(i)] = part
				if decoded, err := url.PathUnescape(part); err == nil && decoded != part { // of which there are more forms
					secrets["decoded path "+strconv.Itoa(i)] = decoded
				}
			}
		}
		for key, values := range u.Query() {
			for _, value := range values {
				if len(value) >= 16 {
					secrets["query "+key] = value
				}
			}
		}
	}
	return scrub.New(secrets).String
}
