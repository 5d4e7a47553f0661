package hubclient

import (
	"context"
	"crypto/ed25519"
	"io"
	"net/http"

	"github.com/klauspost/compress/zstd"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	listType = "application/x-protobuf"
	// listPrefix prevents a list's signature from being valid for anything else.
	listPrefix = "axle-desired\n"
)

var acceptZstd = []string{"zstd"}

// List is a cluster's list, signed by a pinned key.
type List struct {
	Desired *agentv1.Desired
	// Signed is the body as received, for Verify after a restart.
	Signed []byte
	// ETag names the content of the list.
	ETag string
	// Lineage says how the list's incarnation follows from the previous one.
	Lineage Lineage
}

// Answer is the result of a poll.
type Answer struct {
	// List is nil if nothing changed.
	List *List
	// StatusHash covers the statuses that the hub has of this cluster; empty if the
	// hub sent none.
	StatusHash string
}

// Desired polls. etag names the caller's list; empty requests the whole list. Errors
// are *AnswerError: keep what you have.
func (c *Client) Desired(ctx context.Context, etag string) (Answer, error) {
	var answer Answer
	err := c.retry(ctx, func(ctx context.Context) (err error) {
		answer, err = c.poll(ctx, etag)
		return err
	})
	return answer, err
}

func (c *Client) poll(ctx context.Context, etag string) (Answer, error) {
	asked := c.Seen()
	h := c.header()
	h["Accept-Encoding"] = acceptZstd
	if etag != "" && !c.mustAskAgain() {
		h["If-None-Match"] = []string{etag}
	}
	c.mu.Lock()
	refused := c.refused
	c.mu.Unlock()
	if refused != "" {
		h[refusedHeader] = []string{refused}
	}
	r := (&http.Request{Method: http.MethodGet, URL: c.desired, Host: c.desired.Host, Header: h}).WithContext(ctx)
	answer, err := c.roundTrip(r)
	if err != nil {
		return Answer{}, err
	}
	defer answer.Body.Close()
	if refused != "" && (answer.StatusCode == http.StatusNotModified || answer.StatusCode == http.StatusOK) {
		c.told(refused)
	}
	status := ""
	if v := answer.Header[statusHeader]; len(v) > 0 {
		status = v[0]
	}
	switch answer.StatusCode {
	case http.StatusNotModified:
		if answer.Header.Get(positionHeader) == "" || h["If-None-Match"] == nil {
			return Answer{}, notTheHub(answer)
		}
		return Answer{StatusHash: status}, nil
	case http.StatusOK:
		list, err := c.readList(answer, asked)
		return Answer{List: list, StatusHash: status}, err
	}
	return Answer{}, refusal(answer)
}

// mustAskAgain reports whether the whole list must be requested because an answer
// named a later incarnation.
func (c *Client) mustAskAgain() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newerLife
}

func (c *Client) readList(r *http.Response, asked Position) (*List, error) {
	if r.Header.Get("Content-Type") != listType {
		return nil, notTheHub(r)
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	list, err := c.verify(body, nil)
	if err != nil {
		return nil, err
	}
	list.ETag = r.Header.Get("Etag")
	return list, c.follow(list, asked)
}

func readBody(r *http.Response) ([]byte, error) {
	var from io.Reader = r.Body
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "":
	case "zstd":
		z, err := zstd.NewReader(r.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			return nil, unreachable(err)
		}
		defer z.Close()
		from = z
	default:
		return nil, hold(NotTheHub, r.StatusCode, errcode.Unavailable, "the hub's list is encoded as %.40q, which was not requested", encoding)
	}
	body, err := io.ReadAll(io.LimitReader(from, maxListBody+1))
	if err != nil {
		return nil, unreachable(err)
	}
	if len(body) > maxListBody {
		return nil, hold(Refused, r.StatusCode, errcode.Exhausted, "the hub's list is larger than %d MiB", maxListBody>>20)
	}
	return body, nil
}

// Verify reads a stored list: its signature must be of a present or former pinned
// key, and its cluster this one. It moves no position.
func (c *Client) Verify(signed []byte) (*List, error) { return c.verify(signed, c.former) }

// verify accepts a list signed by a pinned key or by one of others.
func (c *Client) verify(signed []byte, others map[string]ed25519.PublicKey) (*List, error) {
	var outer agentv1.SignedDesired
	if err := bounded.Proto(signed, &outer, bounded.Most(maxListBody)); err != nil {
		return nil, hold(NotTheHub, 0, errcode.Unavailable, "the hub's list cannot be read: %w", err)
	}
	var desired agentv1.Desired
	if err := c.open("list", outer.GetKeyId(), others, listPrefix, outer.GetDesired(), outer.GetSignature(), maxListBody, &desired); err != nil {
		return nil, err
	}
	at := positionOf(desired.GetPosition())
	if at.Incarnation == "" || at.Incarnation != desired.GetIncarnation().GetId() {
		return nil, hold(Untrusted, 0, errcode.Internal, "the list names no incarnation, or two")
	}
	return &List{Desired: &desired, Signed: signed}, nil
}

// follow moves the client to the list's position, or drops the list. The signed
// position counts, not the header's: a replayed body with a new header is still old.
func (c *Client) follow(list *List, asked Position) error {
	at := positionOf(list.Desired.GetPosition())
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.keep(at, asked); err != nil {
		return err
	}
	list.Lineage = Follow(c.seen, list.Desired.GetIncarnation())
	if at.Incarnation != c.seen.Incarnation {
		c.newerLife = false
	}
	if c.seen.Before(at) {
		c.setSeen(at)
	}
	return nil
}

// keep records that a list or specs at a position are accepted, unless they are older
// than what was requested or than what is held. Positions named while the answer was
// on its way do not count. The caller holds mu.
func (c *Client) keep(at, asked Position) error {
	for _, floor := range []Position{asked, c.held} {
		if at.Before(floor) {
			return staleError(at, floor)
		}
	}
	if at.Incarnation < c.seen.Incarnation {
		return staleError(at, c.seen)
	}
	c.held = at
	return nil
}
