package authproxy

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/internal/clock"
	"github.com/axle-cd/axle/internal/errcode"
)

const (
	// auditAction is the Action of all records of calls to clusters.
	auditAction = "kubernetes"
	// auditLimit limits the wait until a command's record is durable.
	auditLimit = 10 * time.Second
	// maxCommand limits how much of a command is recorded.
	maxCommand = 4096
)

// auditTrail is the audit record of one request.
type auditTrail struct {
	proxy    *Proxy
	record   audit.Record
	began    time.Time
	up, down atomic.Int64
	status   int
	once     sync.Once
}

// begin creates the record. Long-running requests are recorded at their
// beginning too, and a command in a container does not begin before that record
// is durable.
func (p *Proxy) begin(ctx context.Context, a *parsedRequest) (*auditTrail, error) {
	t := &auditTrail{proxy: p, began: p.config.Clock.Now(), record: p.record(a)}
	command := a.info.Connects() && a.head.GetUpgrade() != ""
	if !command && a.info.Verb != "watch" {
		return t, nil
	}
	start := t.record
	start.At, start.Result = clock.Micros(t.began), "ok"
	start.Detail = map[string]string{"stage": "start"}
	for key, value := range t.record.Detail {
		start.Detail[key] = value
	}
	t.record.Detail["stage"] = "end"
	if !command {
		p.config.Audit.Add(ctx, start)
		return t, nil
	}
	limited, cancel := context.WithTimeout(ctx, auditLimit)
	defer cancel()
	if err := p.config.Audit.AddNow(limited, start); err != nil {
		if p.config.FailOpen {
			p.log(ctx, a, err)
			return t, nil
		}
		return nil, errcode.Hide(errcode.Unavailable, err, "the hub cannot record this command now, so it was not started; try again")
	}
	return t, nil
}

func (p *Proxy) record(a *parsedRequest) audit.Record {
	c := a.caller
	r := audit.Record{
		Actor: c.Name, ActorKind: string(c.Kind), ActorID: c.ID, TokenID: c.TokenID, Source: a.source,
		AsUser: a.head.GetIdentity().GetUser(), AsGroups: a.head.GetIdentity().GetGroups(),
		Action: auditAction, Verb: a.info.Action(), ProjectID: a.cluster.Project, ClusterID: a.cluster.ID,
		Kind: a.info.Kind(), Namespace: a.info.Namespace, Name: a.info.Name,
		Detail: map[string]string{"request": a.head.GetRequestId()},
	}
	if a.info.Connects() {
		_, rawQuery, _ := strings.Cut(a.head.GetRequestUri(), "?")
		query, _ := url.ParseQuery(rawQuery)
		if command := strings.Join(query["command"], " "); command != "" {
			r.Detail["command"] = command[:min(len(command), maxCommand)]
		}
		for _, key := range []string{"container", "ports"} {
			if v := strings.Join(query[key], ","); v != "" {
				r.Detail[key] = v
			}
		}
	}
	return r
}

// end stores the record, once.
func (t *auditTrail) end(ctx context.Context, err error) {
	t.once.Do(func() {
		r := t.record
		now := t.proxy.config.Clock.Now()
		r.At, r.Status, r.Result = clock.Micros(now), t.status, resultOf(t.status, err)
		if err != nil {
			r.Detail["error"] = errcode.Message(err)
		}
		r.Detail["milliseconds"] = strconv.FormatInt(now.Sub(t.began).Milliseconds(), 10)
		r.Detail["bytes_up"] = strconv.FormatInt(t.up.Load(), 10)
		r.Detail["bytes_down"] = strconv.FormatInt(t.down.Load(), 10)
		t.proxy.config.Audit.Add(context.WithoutCancel(ctx), r)
	})
}

// resultOf returns "ok" or a code, from the hub's own error or the cluster's
// status.
func resultOf(status int, err error) string {
	switch {
	case err != nil:
		return string(errcode.Of(err))
	case status < 400:
		return "ok"
	case status == http.StatusUnauthorized:
		return string(errcode.Unauthorized)
	case status == http.StatusForbidden:
		return string(errcode.Forbidden)
	case status == http.StatusNotFound:
		return string(errcode.NotFound)
	case status == http.StatusConflict:
		return string(errcode.Conflict)
	case status == http.StatusTooManyRequests:
		return string(errcode.Exhausted)
	case status == http.StatusUnprocessableEntity:
		return string(errcode.Unprocessable)
	case status < 500:
		return string(errcode.Invalid)
	case status == http.StatusServiceUnavailable || status == http.StatusBadGateway || status == http.StatusGatewayTimeout:
		return string(errcode.Unavailable)
	}
	return string(errcode.Internal)
}
