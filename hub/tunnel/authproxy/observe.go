package authproxy

import (
	"context"
	"errors"
	"io"

	"google.golang.org/protobuf/proto"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/internal/bounded"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/telemetry"
)

const (
	// observed begins the paths of such questions in records; no API server serves them.
	observed = "/axle/observe/"
	// maxObserved bounds an agent's own answer: the names of its namespaces.
	maxObserved = 1 << 20
	// passed is the header of an answer that a program of the cluster gave, and not its API
	// server or its agent.
	passed = "Axle-Passed"
)

// header is the first value of a header of an answer.
func header(answer *agentv1.StreamAnswer, name string) string {
	for _, h := range answer.GetHeaders() {
		if h.GetName() == name && len(h.GetValues()) > 0 {
			return h.GetValues()[0]
		}
	}
	return ""
}

// ObservedServices are the stores that a cluster's agent finds. Those that cannot be are left
// out.
func (g *Pages) ObservedServices(ctx context.Context, q Asking) (found []telemetry.Service, err error) {
	q.URI, q.observe = observed+"services", &agentv1.ObserveQuestion{About: &agentv1.ObserveQuestion_Services{Services: &agentv1.ObserveServices{}}}
	answer := &agentv1.ObservedServices{}
	if err := g.observed(ctx, q, answer); err != nil {
		return nil, err
	}
	for _, s := range answer.GetServices() {
		service := telemetry.Service{Type: telemetry.Type(s.GetType()), Namespace: s.GetNamespace(), Name: s.GetName(), Port: s.GetPort(), Scheme: s.GetScheme(), PathPrefix: s.GetPathPrefix()}
		if service.Check() == nil {
			found = append(found, service)
		}
	}
	return found, nil
}

// ObservedNamespaces are those in which the cluster lets the caller read the logs of pods; all
// is set for the whole cluster.
func (g *Pages) ObservedNamespaces(ctx context.Context, q Asking) (all bool, names []string, leftOut int, err error) {
	q.URI, q.observe = observed+"namespaces", &agentv1.ObserveQuestion{About: &agentv1.ObserveQuestion_Namespaces{Namespaces: &agentv1.ObserveNamespaces{}}}
	answer := &agentv1.ObservedNamespaces{}
	err = g.observed(ctx, q, answer)
	return answer.GetAll(), answer.GetNames(), int(answer.GetLeftOut()), err
}

func (g *Pages) observed(ctx context.Context, q Asking, into proto.Message) error {
	answer, err := g.Do(ctx, q)
	if err != nil {
		return err
	}
	if len(answer.Text) > maxObserved || bounded.Proto(answer.Text, into, bounded.Most(maxObserved)) != nil {
		return errcode.New(errcode.Unavailable, "the agent's answer about metrics and logs cannot be read")
	}
	return nil
}

// Opened is the answer of a program of a cluster, which may be a refusal. It is to be closed.
type Opened struct {
	Status                int
	ContentType, Location string
	exchange              *exchange
	err                   error
}

// Read implements io.Reader.
func (o *Opened) Read(p []byte) (int, error) {
	n, err := o.exchange.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		o.err = err
	}
	return n, err
}

// Close ends the request.
func (o *Opened) Close() error {
	o.exchange.end(&o.err)
	return nil
}

// Observe asks for a path of the API of a store in the cluster, and returns what it answers.
func (g *Pages) Observe(ctx context.Context, q Asking, s telemetry.Service, path, rawQuery, tenant string) (*Opened, error) {
	q.URI, q.observe = observed+string(s.Type)+path, &agentv1.ObserveQuestion{About: &agentv1.ObserveQuestion_Request{Request: &agentv1.ObserveRequest{
		Service: &agentv1.ObservedService{Type: string(s.Type), Namespace: s.Namespace, Name: s.Name, Port: s.Port, Scheme: s.Scheme, PathPrefix: s.PathPrefix},
		Path:    path, Query: rawQuery, Tenant: tenant,
	}}}
	x, err := g.ask(ctx, q)
	if err != nil {
		return nil, err
	}
	o := &Opened{Status: int(x.answer.GetStatus()), ContentType: header(x.answer, "Content-Type"), Location: header(x.answer, "Location"), exchange: x}
	if header(x.answer, passed) == "" {
		o.err = errcode.New(errcode.Unavailable, "the agent's answer is not of the store")
		return nil, errors.Join(o.err, o.Close())
	}
	return o, nil
}

// WhileObserving is While for a store outside of the cluster.
func (g *Pages) WhileObserving(ctx context.Context, q Asking) (during context.Context, end func(), err error) {
	q.URI = observed + "outside"
	return g.While(ctx, q)
}
