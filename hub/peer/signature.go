package peer

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/routes"
	"github.com/axle-cd/axle/internal/tracing"
)

const (
	// header carries "<replica> <micros> <hex of the signature>".
	header = "Axle-Peer"
	// headHeader carries the hex of a signature of the same without the body,
	// so that the caller is known before the body is read.
	headHeader = "Axle-Peer-Head"
	// headMethod precedes the method in that signature, so that it is not valid
	// for a call without a body.
	headMethod = "head of "
	// maxSkew is how far two replicas' clocks may differ.
	maxSkew = time.Minute
	// maxBody limits a call's body; tarballs are only in answers.
	maxBody = 4 << 20
)

// Purpose is the purpose for which the key between replicas is derived.
const Purpose = "axle peer calls v1"

func sign(key []byte, method, path, replica, micros string, body []byte) []byte {
	mac := hmac.New(sha256.New, key)
	sum := sha256.Sum256(body)
	for _, part := range []string{method, path, replica, micros} {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	mac.Write(sum[:])
	return mac.Sum(nil)
}

// Signer is a transport that signs each request as this replica.
type Signer struct {
	Key     []byte
	Replica string
	Clock   clock.Clock
	// Next is the underlying transport; nil is http.DefaultTransport.
	Next http.RoundTripper
}

// RoundTrip signs a copy of the request and sends it.
func (s *Signer) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil && r.Body != http.NoBody {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxBody+1)); err != nil {
			return nil, errors.Join(err, r.Body.Close())
		}
		if err := r.Body.Close(); err != nil {
			return nil, err
		}
		if len(body) > maxBody {
			return nil, errcode.New(errcode.Internal, "a call to a replica is larger than %d bytes", maxBody)
		}
	}
	signed := r.Clone(r.Context())
	tracing.ToHeader(r.Context(), signed.Header)
	if body != nil {
		signed.Body = io.NopCloser(bytes.NewReader(body))
		signed.ContentLength = int64(len(body))
	}
	micros := strconv.FormatInt(clock.Micros(s.Clock.Now()), 10)
	signed.Header.Set(header, s.part(r.Method, r.URL.RequestURI(), micros, body))
	signed.Header.Set(headHeader, hex.EncodeToString(sign(s.Key, headMethod+r.Method, r.URL.RequestURI(), s.Replica, micros, nil)))
	next := s.Next
	if next == nil {
		next = http.DefaultTransport
	}
	return next.RoundTrip(signed)
}

// PartHeader is the header for the result of Part.
const PartHeader = header

// Part signs a request with a streamed body: its method and address, the time
// and the first part of its body, which names the user of the rest. A nonce in
// the address prevents reuse of the signature; the verifier remembers it for
// two minutes.
func (s *Signer) Part(method, uri string, first []byte) string {
	return s.part(method, uri, strconv.FormatInt(clock.Micros(s.Clock.Now()), 10), first)
}

func (s *Signer) part(method, uri, micros string, body []byte) string {
	return s.Replica + " " + micros + " " + hex.EncodeToString(sign(s.Key, method, uri, s.Replica, micros, body))
}

// VerifyPart verifies the signature of Part and returns the replica that made
// it.
func VerifyPart(key []byte, now time.Time, r *http.Request, first []byte) (replica string, err error) {
	return verify(key, now, r, first)
}

type callerKey struct{}

// Caller returns the name of the replica that made the verified request of ctx.
func Caller(ctx context.Context) string {
	name, _ := ctx.Value(callerKey{}).(string)
	return name
}

// Verify passes only signed requests to next. Who is no replica is refused before
// anything of the body is read, so strangers hold nothing here.
func Verify(key []byte, c clock.Clock, next http.Handler) http.Handler {
	refuse := func(w http.ResponseWriter, r *http.Request, err error) {
		routes.LeaveBody(w, r)
		http.Error(w, errcode.Message(err), errcode.HTTPStatus(errcode.Of(err)))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := verifyHead(key, c.Now(), r); err != nil {
			refuse(w, r, err)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			http.Error(w, "the body could not be read", http.StatusBadRequest)
			return
		}
		name, err := verify(key, c.Now(), r, body)
		if err != nil {
			refuse(w, r, err)
			return
		}
		r = r.WithContext(context.WithValue(r.Context(), callerKey{}, name))
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// verifyHead verifies the signature of everything but the body. It proves who
// calls, and nothing about the content of the call.
func verifyHead(key []byte, now time.Time, r *http.Request) error {
	_, err := verifyAs(key, now, r, headMethod+r.Method, r.Header.Get(headHeader), nil)
	return err
}

func verify(key []byte, now time.Time, r *http.Request, body []byte) (name string, err error) {
	_, rest, _ := strings.Cut(r.Header.Get(header), " ")
	_, signature, _ := strings.Cut(rest, " ")
	return verifyAs(key, now, r, r.Method, signature, body)
}

// verifyAs verifies one signature, with the sender and time that the request
// claims.
func verifyAs(key []byte, now time.Time, r *http.Request, method, signature string, body []byte) (name string, err error) {
	refused := errcode.New(errcode.Unauthorized, "this call is not signed with the key of this hub's replicas; give all replicas the same --key-file")
	name, rest, ok := strings.Cut(r.Header.Get(header), " ")
	micros, _, ok2 := strings.Cut(rest, " ")
	got, err := hex.DecodeString(signature)
	if !ok || !ok2 || err != nil || name == "" {
		return "", refused
	}
	if !hmac.Equal(got, sign(key, method, r.URL.RequestURI(), name, micros, body)) {
		return "", refused
	}
	at, err := strconv.ParseInt(micros, 10, 64)
	if err != nil {
		return "", refused
	}
	if skew := now.Sub(clock.FromMicros(at)).Abs(); skew > maxSkew {
		return "", errcode.New(errcode.Unauthorized, "the clocks of this replica and %s are %v apart; set them by NTP", name, skew.Round(time.Second))
	}
	return name, nil
}
