package login

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/signin"
	"github.com/axle-cd/axle/internal/buildinfo"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

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

// loginByBrowser lets a person log in and approve in a browser on this machine.
// The browser returns a code that is useless without the verifier, which never
// leaves this process.
func loginByBrowser(ctx context.Context, a *command.App, t command.Target, f loginFlags) (string, error) {
	client, err := command.Anonymous(t)
	if err != nil {
		return "", err
	}
	verifier, state := rand.Text()+rand.Text(), rand.Text()
	back, err := signin.Listen(ctx, state, "")
	if err != nil {
		return "", err
	}
	defer back.Close(ctx)
	signin.ShowBrowser(ctx, a, t.URL+"/login/cli?"+authorizeQuery(back.RedirectURI, state, verifier, f), a.Interactive(), false)
	code, err := back.Code(ctx)
	if err != nil {
		return "", err
	}
	made, err := client.Logins.Trade(ctx, connect.NewRequest(&hubv1.TradeCodeRequest{Code: code, Verifier: verifier}))
	if err != nil {
		return "", err
	}
	return made.Msg.GetSecret(), nil
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
