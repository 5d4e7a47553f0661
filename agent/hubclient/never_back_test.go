package hubclient_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/axle-cd/axle/agent/hubclient"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
)

// replayer is a hub whose state only grows, behind something that answers any
// request with an older answer whenever it likes.
type replayer struct {
	*double
	random *rand.Rand

	mu  sync.Mutex
	now int64
}

func newReplayer(t *testing.T) *replayer {
	r := &replayer{double: newDouble(t), random: rand.New(rand.NewPCG(1, 2)), now: 1}
	r.answer(r.serve)
	return r
}

// serve answers as the hub did at some time in its past, of every kind that it
// ever gave: lists, 304, specs, acknowledgements and refusals.
func (r *replayer) serve(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	r.now++
	at, refuse := r.now, r.random.IntN(5) == 0
	if r.random.IntN(2) == 0 {
		at = 1 + r.random.Int64N(r.now)
	}
	r.mu.Unlock()
	w.Header().Set("Axle-Position", position(life1, at))
	switch {
	case refuse && at < 5:
		problem(w, http.StatusUnauthorized, "unauthorized", "no such token")
	case strings.HasSuffix(q.URL.Path, "/desired") && q.Header.Get("If-None-Match") != "" && at%7 == 0:
		w.Header().Set("Axle-Status", strconv.FormatInt(at, 10))
		w.WriteHeader(http.StatusNotModified)
	case strings.HasSuffix(q.URL.Path, "/desired"):
		w.Header().Set("Axle-Status", strconv.FormatInt(at, 10))
		r.sendList(w, life1, at, strconv.FormatInt(at, 10))
	default:
		w.Header().Set("Content-Type", "application/proto")
		var m proto.Message = &agentv1.ReportResponse{StatusHash: strconv.FormatInt(at, 10)}
		if strings.HasSuffix(q.URL.Path, "/Services") {
			m = r.specs(life1, at, strconv.FormatInt(at, 10))
		}
		w.Write(must(proto.Marshal(m)))
	}
}

// asker is a client under test: each call returns the revision that its answer
// spoke of, or an error when it was not taken.
type asker struct {
	list, specs, report func(ctx context.Context) (revision string, err error)
}

// neverBack asks in turns and returns an error when a revision that was taken
// is older than one that was taken before.
func neverBack(ctx context.Context, a asker) error {
	var highest int64
	taken := map[string]int{"list": 0, "specs": 0, "report": 0}
	for n := range 300 {
		for kind, ask := range map[string]func(context.Context) (string, error){"list": a.list, "specs": a.specs, "report": a.report} {
			text, err := ask(ctx)
			if err != nil || text == "" {
				continue
			}
			revision, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err
			}
			taken[kind]++
			if revision < highest {
				return fmt.Errorf("round %d: %s took revision %d after %d", n, kind, revision, highest)
			}
			highest = revision
		}
	}
	for kind, n := range taken {
		if n < 50 {
			return fmt.Errorf("only %d answers of %s were taken, the rule was not tried", n, kind)
		}
	}
	return nil
}

func TestRevisionsNeverGoBack(t *testing.T) {
	r := newReplayer(t)
	c := r.client(t)
	etag := ""
	err := neverBack(t.Context(), asker{
		list: func(ctx context.Context) (string, error) {
			answer, err := c.Desired(ctx, etag)
			if err != nil || answer.List == nil {
				return answer.StatusHash, err
			}
			etag = answer.List.ETag
			return answer.List.Desired.GetServices()[0].GetTarballDigest(), nil
		},
		specs: func(ctx context.Context) (string, error) {
			answer, err := c.Services(ctx, []string{"s1"})
			if err != nil {
				return "", err
			}
			return answer.GetServices()[0].GetSpecDigest(), nil
		},
		report: func(ctx context.Context) (string, error) {
			answer, err := c.Report(ctx, &agentv1.ReportRequest{})
			return answer.GetStatusHash(), err
		},
	})
	if err != nil {
		t.Error(err)
	}
}

// The same proxy and the same check, with a client that believes whatever it
// is told.
func TestRevisionsNeverGoBackCatchesABelievingClient(t *testing.T) {
	r := newReplayer(t)
	list := func(ctx context.Context) (string, error) {
		answer, err := http.Get(r.URL + "/agent/v1/desired")
		if err != nil || answer.StatusCode != http.StatusOK {
			return "", err
		}
		defer answer.Body.Close()
		body := must(io.ReadAll(answer.Body))
		return must(r.client(t).Verify(body)).Desired.GetServices()[0].GetTarballDigest(), nil
	}
	silent := func(context.Context) (string, error) { return "", nil }
	if err := neverBack(t.Context(), asker{list, silent, silent}); err == nil || !strings.Contains(err.Error(), "took revision") {
		t.Error("a client that believes older answers was not caught")
	}
}

// A hint, or the answer to another call, names a later place while an answer is
// on its way: the answer is as new as its request asked for, and is taken. It
// moves nothing back.
func TestAHintMakesNoAnswerOnItsWayStale(t *testing.T) {
	d := newDouble(t)
	c := d.client(t, func(cfg *hubclient.Config) { cfg.Seen = hubclient.Position{Incarnation: life1, Sequence: 36} })
	later := hubclient.Position{Incarnation: life1, Sequence: 37}
	d.answer(func(w http.ResponseWriter, q *http.Request) {
		c.Expect(later)
		w.Header().Set("Axle-Position", position(life1, 36))
		if strings.HasSuffix(q.URL.Path, "/desired") {
			d.sendList(w, life1, 36, "one")
			return
		}
		w.Header().Set("Content-Type", "application/proto")
		w.Write(must(proto.Marshal(d.specs(life1, 36, "one"))))
	})
	if answer, err := c.Services(t.Context(), []string{"s1"}); err != nil || len(answer.GetServices()) != 1 {
		t.Errorf("specs: %v, %v", answer, err)
	}
	c = d.client(t, func(cfg *hubclient.Config) { cfg.Seen = hubclient.Position{Incarnation: life1, Sequence: 36} })
	if answer, err := c.Desired(t.Context(), ""); err != nil || answer.List == nil {
		t.Errorf("list: %v", err)
	}
	if got := c.Seen(); got != later {
		t.Errorf("the client went back to %s", got)
	}
	// From here on it asks for the later position, and an older one is rejected.
	if _, err := c.Services(t.Context(), []string{"s1"}); hubclient.ReasonOf(err) != hubclient.Stale {
		t.Errorf("older specs than were asked for: %v", err)
	}
	if _, err := c.Desired(t.Context(), ""); hubclient.ReasonOf(err) != hubclient.Stale {
		t.Errorf("an older list than was asked for: %v", err)
	}
	// The signed position counts, whatever the header says.
	d.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Axle-Position", position(life1, 37))
		w.Header().Set("Content-Type", "application/proto")
		w.Write(must(proto.Marshal(d.specs(life1, 36, "one"))))
	})
	if _, err := c.Services(t.Context(), []string{"s1"}); hubclient.ReasonOf(err) != hubclient.Stale {
		t.Errorf("older specs under a new header: %v", err)
	}
}

func TestFollow(t *testing.T) {
	const minute = int64(60_000_000)
	seen := hubclient.Position{Incarnation: life1, Sequence: 50}
	for name, test := range map[string]struct {
		seen hubclient.Position
		life *agentv1.Incarnation
		want hubclient.Lineage
	}{
		"first life ever": {hubclient.Position{}, &agentv1.Incarnation{Id: life1}, hubclient.SameLife},
		"nothing remembered": {hubclient.Position{}, &agentv1.Incarnation{
			Id: life2, ParentId: life1, ParentKeptSequence: 50, ParentKeptAt: 98 * minute, StartedAt: 99 * minute}, hubclient.Restored},
		"nothing remembered of a confirmed life": {hubclient.Position{}, &agentv1.Incarnation{Id: life2, ParentId: life1, Confirmed: true}, hubclient.SameLife},
		"same life":                              {seen, &agentv1.Incarnation{Id: life1}, hubclient.SameLife},
		"fail-over without loss":                 {seen, &agentv1.Incarnation{Id: life2, ParentId: life1, ParentKeptSequence: 50, StartedAt: 99 * minute, Confirmed: true}, hubclient.Resumed},
		"backup of seconds ago":                  {seen, &agentv1.Incarnation{Id: life2, ParentId: life1, ParentKeptSequence: 50, ParentKeptAt: 99*minute - 1, StartedAt: 99 * minute}, hubclient.Restored},
		"restored backup":                        {seen, &agentv1.Incarnation{Id: life2, ParentId: life1, ParentKeptSequence: 40, ParentKeptAt: 80 * minute, StartedAt: 99 * minute}, hubclient.Restored},
		"unknown parent":                         {seen, &agentv1.Incarnation{Id: life2, ParentId: "0000000000000a-0009", ParentKeptSequence: 90}, hubclient.Restored},
		"no parent":                              {seen, &agentv1.Incarnation{Id: life2}, hubclient.Restored},
		"confirmed by a person":                  {seen, &agentv1.Incarnation{Id: life2, Confirmed: true}, hubclient.Resumed},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hubclient.Follow(test.seen, test.life); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// An unsigned 304 that names a later life moves nothing; the signed list does.
func TestNewLifeNeedsItsSignedList(t *testing.T) {
	d := newDouble(t)
	c := d.client(t, func(cfg *hubclient.Config) { cfg.Seen = hubclient.Position{Incarnation: life1, Sequence: 7} })
	d.answer(func(w http.ResponseWriter, q *http.Request) {
		if q.Header.Get("If-None-Match") == "" {
			d.sendList(w, life2, 3, "new")
			return
		}
		w.Header().Set("Axle-Position", position(life2, 3))
		w.WriteHeader(http.StatusNotModified)
	})
	if answer, err := c.Desired(t.Context(), `W/"old"`); err != nil || answer.List != nil {
		t.Fatalf("got %v, %v, want an unchanged answer", answer, err)
	}
	if got := c.Seen().Incarnation; got != life1 {
		t.Errorf("an unsigned answer moved the client to life %s", got)
	}
	answer, err := c.Desired(t.Context(), `W/"old"`)
	if err != nil || answer.List == nil || answer.List.Lineage != hubclient.Restored {
		t.Fatalf("got %+v, %v, want the new life's list", answer, err)
	}
	if got := c.Seen().String(); got != position(life2, 3) {
		t.Errorf("seen is %s", got)
	}
	// Answers from the old incarnation are old.
	d.answer(func(w http.ResponseWriter, q *http.Request) { d.sendList(w, life1, 900, "back") })
	if _, err := c.Desired(t.Context(), ""); hubclient.ReasonOf(err) != hubclient.Stale {
		t.Errorf("got %v, want a stale answer", err)
	}
}
