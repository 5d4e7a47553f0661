package attack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/eventually"
)

// Target is a hub, by the token of an administrator. Bed is nil when it is somebody's.
type Target struct {
	URL, Token string
	Client     *http.Client
	// Run tells the names of this run from those of others.
	Run string
	Bed *Servers
}

func (t *Target) has() Needs {
	switch {
	case t.Bed == nil:
		return API
	case t.Bed.cluster == nil:
		return Bed
	case t.Bed.operator == nil:
		return Cluster
	}
	return Operator
}

// Play is one attack that is played.
type Play struct {
	*Target
	ctx    context.Context
	name   string
	failed error
	undo   []func(ctx context.Context) error
	ends   []func()
}

// caller is somebody with a token.
type caller struct {
	p           *Play
	name, token string
}

// answer is what the hub answered.
type answer struct {
	status int
	text   string
	header http.Header
	fields map[string]any
}

func (a answer) ok() bool { return a.status == http.StatusOK }

// field is a text of the answer, by the names that lead to it.
func (a answer) field(path ...string) string {
	var v any = a.fields
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	text, _ := v.(string)
	return text
}

// my makes a name of this run and attack.
func (p *Play) my(name string) string { return strings.ToLower(p.name + "-" + name + "-" + p.Run) }

func (p *Play) admin() caller { return caller{p, "the administrator", p.Token} }

// call makes a call of the API; in the request <<name>> is my("name").
func (c caller) call(procedure, request string, args ...any) answer {
	return c.within(c.p.ctx, procedure, request, args...)
}

// within is call with another end than that of the attack.
func (c caller) within(ctx context.Context, procedure, request string, args ...any) answer {
	return c.send(ctx, http.MethodPost, "/axle.hub.v1."+procedure, c.p.fill(fmt.Sprintf(request, args...)), nil)
}

// must is call for what is no attack.
func (c caller) must(procedure, request string, args ...any) answer {
	a := c.call(procedure, request, args...)
	if !a.ok() {
		c.p.fail("%s by %s: %d: %.300s", procedure, c.name, a.status, a.text)
	}
	return a
}

// later makes a call as administrator when the attack is over. Nothing that is gone by
// then is missed.
func (p *Play) later(procedure, request string) {
	request = p.fill(request)
	p.undo = append(p.undo, func(ctx context.Context) error {
		a := p.admin().within(ctx, procedure, "%s", request)
		if !a.ok() && a.status != http.StatusNotFound {
			return fmt.Errorf("cleaning up: %s %s: %d: %.200s", procedure, request, a.status, a.text)
		}
		return nil
	})
}

// ended ends something when the attack is over.
func (p *Play) ended(end func()) { p.ends = append(p.ends, end) }

// cleanUp ends what the attack started and deletes what it made, the last first. A hub of
// ours is thrown away.
func (p *Play) cleanUp(ctx context.Context) (err error) {
	for _, end := range p.ends {
		end()
	}
	for i := len(p.undo) - 1; i >= 0 && p.Bed == nil; i-- {
		// What was deleted before may be on its way out.
		err = errors.Join(err, eventually.Wait(ctx, undoLimit, func() error { return p.undo[i](ctx) }))
	}
	return err
}

// fill replaces <<name>> by my("name").
func (p *Play) fill(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<<")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, after, _ := strings.Cut(rest, ">>")
		out.WriteString(p.my(name))
		text = after
	}
}

// quoted is a text in JSON.
func quoted(text string) string {
	out, _ := json.Marshal(text) // a text is always JSON
	return string(out)
}

// send sends a request and reads the answer, without following redirects.
func (c caller) send(ctx context.Context, method, path, body string, header http.Header) answer {
	r, err := http.NewRequestWithContext(ctx, method, c.p.URL+path, strings.NewReader(body))
	if err != nil {
		c.p.fail("%s: %w", path, err)
	}
	if header != nil {
		r.Header = header.Clone()
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	answered, err := c.p.Client.Do(r)
	if err != nil {
		return answer{text: err.Error()}
	}
	defer answered.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(answered.Body, 4<<20))
	a := answer{status: answered.StatusCode, text: string(text), header: answered.Header}
	if strings.Contains(answered.Header.Get("Content-Type"), "json") {
		_ = json.NewDecoder(bytes.NewReader(text)).Decode(&a.fields)
	}
	return a
}

// project makes a project and returns somebody who may do everything in it but administer.
func (p *Play) project(name string) caller {
	p.admin().must("Projects/Create", `{"name": "<<%s>>", "limits": {"clusterScoped": true}}`, name)
	p.later("Projects/Delete", `{"name": "<<`+name+`>>"}`)
	return p.person(name, p.place(name), "read", "write", "create", "git")
}

func (p *Play) place(project string) string { return p.fill(`{"project": "<<` + project + `>>"}`) }

// person makes a user with a token and rights at a place.
func (p *Play) person(name, place string, actions ...string) caller {
	made := p.admin().must("Users/Create", `{"email": "<<%s>>@example.com", "tokenScopes": ["admin"]}`, name)
	p.later("Users/Delete", `{"name": "<<`+name+`>>@example.com"}`)
	if len(actions) > 0 {
		p.admin().must("Bindings/Create", `{"subjectKind": "user", "subject": "<<%s>>@example.com", "actions": ["%s"], "place": %s}`, name, strings.Join(actions, `", "`), place)
	}
	return caller{p, name, made.field("token")}
}

// newCluster makes a cluster without an agent in a project. Its services go with it.
func (p *Play) newCluster(name, project, more string) {
	p.admin().must("Clusters/Create", `{"name": "<<%s>>", "project": "<<%s>>"%s}`, name, project, more)
	p.later("Clusters/Delete", `{"name": "<<`+name+`>>", "detach": true}`)
}

// either waits until one of two states is reached, and returns it.
func (p *Play) either(description string, read func() string, states ...string) string {
	var is string
	err := eventually.Wait(p.ctx, limit, func() error {
		is = read()
		for _, state := range states {
			if is == state {
				return nil
			}
		}
		return fmt.Errorf("it is %q", is)
	})
	if err != nil {
		p.fail("%s: neither of %v: %w", description, states, err)
	}
	return is
}

// revision is the revision of a service's first source, empty while there is none.
func (p *Play) revision(cluster, service string) string {
	a := p.admin().call("Services/Get", `{"ref": {"cluster": "<<%s>>", "name": "<<%s>>"}}`, cluster, service)
	if sources, _ := a.fields["sources"].([]any); len(sources) > 0 {
		first, _ := sources[0].(map[string]any)
		text, _ := first["revision"].(string)
		return text
	}
	return ""
}

// slowest makes a write of an administrator again and again for a while and returns the
// longest wait.
func (p *Play) slowest(during time.Duration) time.Duration {
	var longest time.Duration
	began := time.Now()
	ctx, cancel := context.WithTimeout(p.ctx, 2*during)
	defer cancel()
	often := time.NewTicker(100 * time.Millisecond) // a write of now and then, no load
	defer often.Stop()
	for time.Since(began) < during && ctx.Err() == nil {
		<-often.C
		at := time.Now()
		p.admin().within(ctx, "Contexts/Update", `{"context": {"name": "<<others>>", "values": "{\"at\": \"%d\"}"}}`, at.UnixNano())
		longest = max(longest, time.Since(at))
	}
	return longest
}
