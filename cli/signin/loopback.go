package signin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/errcode"
)

// browserTimeout is how long a person has to log in.
const browserTimeout = 10 * time.Minute

// errUnanswered is returned when nobody logged in.
var errUnanswered = errcode.New(errcode.Unavailable, "nobody logged in within %s; run the command again, or use --device", browserTimeout)

// Loopback is a port of this machine to which a browser returns.
type Loopback struct {
	// RedirectURI is where the browser returns to.
	RedirectURI string

	server  *http.Server
	served  chan error
	answers chan url.Values
}

// Listen opens a port for the answer with a state. Unless issuer is empty, an answer of
// another issuer does not count either (RFC 9207).
func Listen(ctx context.Context, state, issuer string) (*Loopback, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "open a port for the browser's answer: %w; use --device", err)
	}
	l := &Loopback{RedirectURI: "http://" + listener.Addr().String() + "/callback", served: make(chan error, 1), answers: make(chan url.Values, 1)}
	l.server = &http.Server{Handler: l.take(state, issuer), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() { l.served <- l.server.Serve(listener) }()
	return l, nil
}

// Code waits for the code that the browser brings. Forbidden when it brings none.
func (l *Loopback) Code(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, browserTimeout)
	defer cancel()
	select {
	case got := <-l.answers:
		if code := got.Get("code"); code != "" {
			return code, nil
		}
		if why := got.Get("error_description"); why != "" {
			return "", errcode.New(errcode.Forbidden, "the login was refused in the browser: %.200q", why)
		}
		return "", errcode.New(errcode.Forbidden, "the login was refused in the browser")
	case err := <-l.served:
		l.served <- err
		return "", errcode.New(errcode.Unavailable, "receive the browser's answer: %w; use --device", err)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", errUnanswered
		}
		return "", ctx.Err()
	}
}

// Close closes the port once the page with the answer is sent.
func (l *Loopback) Close(ctx context.Context) {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = l.server.Shutdown(end)
	<-l.served
}

// take accepts the one answer that carries our state. Requests from other pages or programs
// to this port change nothing.
func (l *Loopback) take(state, issuer string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) != 1 || issuer != "" && query.Get("iss") != issuer {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, page("This answer is not for the command that is waiting here."))
			return
		}
		text := "You are logged in. You may close this page and go back to the terminal."
		if query.Get("code") == "" {
			text = "The login was refused. You may close this page."
		}
		_, _ = io.WriteString(w, page(text))
		select {
		case l.answers <- query:
		default: // the first answer counts
		}
	})
	return mux
}

func page(text string) string {
	return "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><meta name=color-scheme content='light dark'><title>Axle</title><h1>Axle</h1><p>" + text + "</p></html>\n"
}

// ShowBrowser prints an address, for people who open it themselves, and opens it where
// somebody sits in front of the command, unless quietly is set.
func ShowBrowser(ctx context.Context, a *command.App, address string, somebody, quietly bool) {
	fmt.Fprintf(a.Err, "log in at\n  %s\n", address)
	command := strings.Fields(a.Getenv("BROWSER"))
	switch {
	case quietly:
		return
	case len(command) > 0:
	case !somebody:
		return
	case runtime.GOOS == "darwin":
		command = []string{"open"}
	case runtime.GOOS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler"}
	default:
		command = []string{"xdg-open"}
	}
	// The browser outlives this command. If there is none, the printed address
	// is enough.
	c := exec.CommandContext(context.WithoutCancel(ctx), command[0], append(command[1:], address)...)
	if err := c.Start(); err == nil {
		go func() { _ = c.Wait() }()
	}
}
