package tunnel

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/wsconn"
)

const (
	modeProbe = "probe"
	// probeBytes is how many bytes a hub echoes, and probeWithin how long that may
	// take.
	probeBytes  = 32
	probeWithin = 5 * time.Second
)

// ErrOldHub is returned for a hub that answers, but does not support probes.
var ErrOldHub = errors.New("this version of the hub does not support WebSocket probes")

// Probe checks whether a WebSocket to the hub works, with data in both directions. It
// sends no token and does not affect a tunnel. The error is Invalid if something in
// between drops the request's Upgrade header, Conflict if it prevents the WebSocket
// in another way or buffers, Exhausted if the hub has no capacity for it, ErrOldHub,
// or Unavailable if there was no answer.
func Probe(ctx context.Context, transport http.RoundTripper, hubURL string) error {
	u, err := url.Parse(hubURL)
	if err != nil {
		return errcode.New(errcode.Unavailable, "the hub's URL: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath(Path).String(), nil)
	if err != nil {
		return errcode.New(errcode.Unavailable, "the hub's URL: %w", err)
	}
	r.Header.Set(modeHeader, modeProbe)
	r.Header.Set("User-Agent", "")
	conn, answer, err := wsconn.Dial(ctx, transport, r, protocol)
	switch {
	case errors.Is(err, wsconn.ErrProtocol):
		return errcode.New(errcode.Conflict, "%w; something between here and %s answers in the hub's place", err, u.Host)
	case err != nil:
		return errcode.New(errcode.Unavailable, "the hub at %s cannot be reached for a WebSocket: %w", u.Host, err)
	case conn == nil:
		defer answer.Body.Close()
		return noSwitch(answer, u.Host)
	}
	defer conn.Close()
	return comesBack(ctx, conn, u.Host)
}

// noSwitch explains an answer that is not a WebSocket.
func noSwitch(answer *http.Response, host string) error {
	words, ours := hubWords(answer)
	switch code := answer.StatusCode; {
	case !ours:
		return errcode.New(errcode.Conflict, "%s%s answers HTTP %d to a WebSocket, and that answer is not the hub's", host, Path, code)
	case code == http.StatusBadRequest:
		return errcode.New(errcode.Invalid, "the hub got the request, but not as a WebSocket: %s", words)
	case code == http.StatusUnauthorized || code == http.StatusNotFound:
		return ErrOldHub
	}
	return errcode.New(errcode.Exhausted, "the hub takes no WebSocket now: %s", words)
}

// comesBack sends bytes and waits for the echo.
func comesBack(ctx context.Context, conn *wsconn.Conn, host string) error {
	end := time.Now().Add(probeWithin)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	sent, got := make([]byte, probeBytes), make([]byte, probeBytes)
	rand.Read(sent)
	err := conn.SetDeadline(end)
	if err == nil {
		_, err = conn.Write(sent)
	}
	if err == nil {
		_, err = io.ReadFull(conn, got)
	}
	if err != nil {
		return errcode.New(errcode.Conflict, "a WebSocket to %s opens, but what is sent along it does not come back: %w", host, err)
	}
	if !bytes.Equal(sent, got) {
		return errcode.New(errcode.Conflict, "a WebSocket to %s opens, but other bytes come back than were sent", host)
	}
	return nil
}
