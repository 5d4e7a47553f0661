package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// browserTimeout is how long a person has to log in.
const browserTimeout = 10 * time.Minute

// clientName says which user on which machine asks. The approval page shows it.
func clientName() string {
	name := "axle"
	if host, err := os.Hostname(); err == nil {
		name += " on " + host
	}
	if u, err := user.Current(); err == nil {
		name += " (" + u.Username + ")"
	}
	return name
}

// answer is what the browser returns.
type answer struct {
	code string
	err  error
}

// loginByBrowser lets a person log in and approve in a browser on this machine.
// The browser returns a code that is useless without the verifier, which never
// leaves this process.
func loginByBrowser(ctx context.Context, a *command.App, t command.Target, f loginFlags) (string, error) {
	client, err := command.Anonymous(t)
	if err != nil {
		return "", err
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", errcode.New(errcode.Unavailable, "open a port for the browser's answer: %w; use --device", err)
	}
	verifier, state := rand.Text()+rand.Text(), rand.Text()
	answers := make(chan answer, 1)
	server := &http.Server{Handler: takeAnswer(state, answers), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		// The page with the answer is still being sent.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(end)
		<-served
	}()
	showBrowser(ctx, a, t.URL+"/login/cli?"+authorizeQuery("http://"+listener.Addr().String()+"/callback", state, verifier, f))
	ctx, cancel := context.WithTimeout(ctx, browserTimeout)
	defer cancel()
	select {
	case got := <-answers:
		if got.err != nil {
			return "", got.err
		}
		made, err := client.Logins.Trade(ctx, connect.NewRequest(&hubv1.TradeCodeRequest{Code: got.code, Verifier: verifier}))
		if err != nil {
			return "", err
		}
		return made.Msg.GetSecret(), nil
	case err := <-served:
		served <- err
		return "", errcode.New(errcode.Unavailable, "receive the browser's answer: %w; use --device", err)
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return "", errcode.New(errcode.Unavailable, "nobody logged in within %s; run the command again, or use --device", browserTimeout)
		}
		return "", ctx.Err()
	}
}

func authorizeQuery(redirect, state, verifier string, f loginFlags) string {
	sum := sha256.Sum256([]byte(verifier))
	query := url.Values{
		"redirect_uri": {redirect}, "state": {state}, "client": {clientName()},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	if len(f.scopes) > 0 {
		query.Set("scope", strings.Join(f.scopes, " "))
	}
	if f.expires != 0 {
		query.Set("lifetime", strconv.FormatInt(int64(f.expires/time.Second), 10))
	}
	return query.Encode()
}

// takeAnswer accepts the one answer that carries our state. Requests from other
// pages or programs to this port change nothing.
func takeAnswer(state string, answers chan<- answer) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		if subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(state)) != 1 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, page("This answer is not for the command that is waiting here."))
			return
		}
		got, text := answer{code: query.Get("code")}, "You are logged in. You may close this page and go back to the terminal."
		if got.code == "" {
			got.err = errcode.New(errcode.Forbidden, "the login was refused in the browser")
			text = "The login was refused. You may close this page."
		}
		_, _ = io.WriteString(w, page(text))
		select {
		case answers <- got:
		default: // the first answer counts
		}
	})
	return mux
}

func page(text string) string {
	return "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'><meta name=color-scheme content='light dark'><title>Axle</title><h1>Axle</h1><p>" + text + "</p></html>\n"
}

// showBrowser opens the address. It also prints it, for people who open it
// themselves.
func showBrowser(ctx context.Context, a *command.App, address string) {
	fmt.Fprintf(a.Err, "log in at\n  %s\n", address)
	command := strings.Fields(a.Getenv("BROWSER"))
	switch {
	case len(command) > 0:
	case !a.Interactive():
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

// loginByDevice shows a code for a browser on another machine and waits for it.
func loginByDevice(ctx context.Context, a *command.App, t command.Target, f loginFlags) (string, error) {
	client, err := command.Anonymous(t)
	if err != nil {
		return "", err
	}
	started, err := client.Logins.StartDevice(ctx, connect.NewRequest(&hubv1.StartDeviceRequest{Client: clientName(), Scopes: f.scopes, LifetimeMicros: f.expires.Microseconds()}))
	if err != nil {
		return "", err
	}
	m := started.Msg
	fmt.Fprintf(a.Err, "open\n  %s\non any machine, log in, and enter this code\n  %s\n", m.GetVerificationUrl(), m.GetUserCode())
	wait := time.Duration(m.GetIntervalMicros()) * time.Microsecond
	for {
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(wait):
		}
		polled, err := client.Logins.PollDevice(ctx, connect.NewRequest(&hubv1.PollDeviceRequest{DeviceCode: m.GetDeviceCode()}))
		switch {
		case errcode.Is(sdk.Error(err, t.URL), errcode.Unavailable):
			continue // the code stays valid while the hub restarts
		case err != nil:
			return "", err
		}
		switch polled.Msg.GetPhase() {
		case "done":
			return polled.Msg.GetToken().GetSecret(), nil
		case "denied":
			return "", errcode.New(errcode.Forbidden, "the login was refused in the browser")
		case "expired":
			return "", errcode.New(errcode.Unauthorized, "nobody entered the code in time; run the command again")
		}
		wait = max(wait, time.Duration(polled.Msg.GetIntervalMicros())*time.Microsecond)
	}
}

// endLogin ends the token of a context at its hub, or all logins of its user
// there, and returns a sentence about the result.
func endLogin(a *command.App, c *cobra.Command, t command.Target, everywhere bool, all *hubv1.EndSessionsRequest) (string, error) {
	client, err := sdk.New(sdk.Config{URL: t.URL, Token: t.Token, CAPEM: []byte(t.CA), UserAgent: "axle/" + buildinfo.Version})
	if err != nil {
		return "", err
	}
	if everywhere {
		ended, err := client.Logins.EndSessions(c.Context(), connect.NewRequest(all))
		if err != nil {
			return "", err
		}
		return endedText(all, ended.Msg.GetEnded()), nil
	}
	who, err := client.Sessions.WhoAmI(c.Context(), connect.NewRequest(&hubv1.WhoAmIRequest{}))
	if err == nil {
		_, err = client.Logins.EndSession(c.Context(), connect.NewRequest(&hubv1.EndSessionRequest{Id: who.Msg.GetTokenId()}))
	}
	switch {
	case err == nil, errcode.Is(err, errcode.Unauthorized):
		return "the login has ended", nil
	case errcode.Is(err, errcode.Unavailable):
		return "the hub does not answer; the login there ends when it expires", nil
	}
	return "", err
}
