package attack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/axle-cd/axle/test/kube"
)

var openTail = Attack{
	Class: "C1", Name: "open-tail", Needs: Cluster,
	Story: "Somebody follows a store of logs that is outside of its cluster, with a token that is revoked then, and goes on reading.",
	Play: func(p *Play) string {
		store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/stream+json")
		}))
		p.ended(func() { store.CloseClientConnections(); store.Close() })
		p.admin().must("TelemetrySources/Apply", `{"name": "<<logs>>", "settings": {"project": "default", "cluster": %q, "type": "victorialogs", "url": %q}}`, edge, store.URL)
		minted := p.token("tail", "read")
		follower := caller{p, "the follower", minted.field("secret")}
		lines := follower.stream("ClusterAPI/SearchLogs", `{"cluster": %q, "follow": true, "store": {"name": %q}}`, edge, p.my("logs"))
		p.admin().must("Tokens/Revoke", `{"id": %q}`, minted.field("token", "id"))
		if !ended(lines, time.After(grace)) {
			return "the tail is open " + grace.String() + " after its token was revoked"
		}
		return ""
	},
}

// stream opens a stream of the API, waits a second in which it must not end, and returns
// what it has of each read, until it ends.
func (c caller) stream(procedure, message string, args ...any) <-chan string {
	text := c.p.fill(fmt.Sprintf(message, args...))
	framed := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(text))), text...)
	r, err := http.NewRequestWithContext(c.p.ctx, http.MethodPost, c.p.URL+"/axle.hub.v1."+procedure, bytes.NewReader(framed))
	if err != nil {
		c.p.fail("%w", err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Content-Type": {"application/connect+json"}, "Connect-Protocol-Version": {"1"}}
	open, err := c.p.Client.Do(r)
	if err != nil {
		c.p.fail("%s: %w", procedure, err)
	}
	c.p.ended(func() { _ = open.Body.Close() })
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for piece := make([]byte, 64<<10); ; {
			n, err := open.Body.Read(piece)
			if n > 0 {
				lines <- string(piece[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	if ended(lines, time.After(time.Second)) {
		c.p.fail("%s ended at once: %s", procedure, open.Status)
	}
	return lines
}

// editors may do in the cluster what people with write there do.
const editors = `{apiVersion: v1, kind: List, items: [
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: attack-editors}, rules: [{apiGroups: [""], resources: [pods, pods/exec, configmaps], verbs: ["*"]}]},
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: attack-editors}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: attack-editors},
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "axle:cluster:write"}, {apiGroup: rbac.authorization.k8s.io, kind: Group, name: "axle:cluster:read"}]}]}`

var openExec = Attack{
	Class: "C1", Name: "open-exec", Needs: Cluster,
	Story: "Somebody with a shell in a pod may not write to its cluster any more, and goes on typing.",
	Play: func(p *Play) string {
		p.apply(editors)
		p.apply(`{apiVersion: v1, kind: Pod, metadata: {name: shell, namespace: default}, spec: {automountServiceAccountToken: false,
containers: [{name: main, image: "` + kube.ImagePrefix + `sh:1", args: ["-c", "exec sleep 3600"]}]}}`)
		p.either("the pod runs", func() string {
			return p.admin().send(p.ctx, http.MethodGet, api("/api/v1/namespaces/default/pods/shell"), "", nil).field("status", "phase")
		}, "Running")
		const write = `{"subjectKind": "user", "subject": "<<former>>@example.com", "actions": ["write"], "place": {"cluster": "` + edge + `"}}`
		former := p.person("former", `{"cluster": "`+edge+`"}`, "read")
		p.admin().must("Bindings/Create", write)
		keys, lines := former.exec("default", "shell", "cat")
		typed := func(text string) error { _, err := io.WriteString(keys, text+"\n"); return err }
		if err := typed("before"); err != nil || <-lines != "before" {
			p.fail("the shell does not answer: %v", err)
		}
		p.admin().must("Bindings/Delete", write)
		if ended(lines, time.After(grace)) {
			return ""
		}
		if err := typed("later"); err == nil && <-lines == "later" {
			return "a shell " + grace.String() + " after the right ended"
		}
		return ""
	},
}

// exec runs a command in a pod through the hub, and returns its input and the lines of its
// output, until it ends.
func (c caller) exec(namespace, pod, command string) (io.Writer, <-chan string) {
	config := &rest.Config{Host: c.p.URL + api(""), BearerToken: c.token}
	query := url.Values{"stdin": {"true"}, "stdout": {"true"}, "command": {command}}
	executor, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, config.Host+"/api/v1/namespaces/"+namespace+"/pods/"+pod+"/exec?"+query.Encode())
	if err != nil {
		c.p.fail("%w", err)
	}
	in, keys := io.Pipe()
	out, screen := io.Pipe()
	c.p.ended(func() { _ = keys.Close(); _ = out.Close() })
	go func() {
		err := executor.StreamWithContext(c.p.ctx, remotecommand.StreamOptions{Stdin: in, Stdout: screen})
		_ = in.CloseWithError(errEnded)
		_ = screen.CloseWithError(errors.Join(errEnded, err))
	}()
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return keys, lines
}

var errEnded = errors.New("the command ended")

var lostBinding = Attack{
	Class: "C1", Name: "lost-binding", Needs: Cluster,
	Story: "Somebody watches a cluster, through kubectl and through pages, loses the binding that lets them, and goes on reading with the token and the streams that they have.",
	Play: func(p *Play) string {
		const read = `{"subjectKind": "user", "subject": "<<former>>@example.com", "actions": ["read"], "place": {"cluster": "` + edge + `"}}`
		return p.lost(func() { p.admin().must("Bindings/Create", read) }, func() { p.admin().must("Bindings/Delete", read) })
	},
}

var lostGroup = Attack{
	Class: "C1", Name: "lost-group", Needs: Cluster,
	Story: "The same by a group, of which they are no member any more.",
	Play: func(p *Play) string {
		p.admin().must("Groups/Create", `{"name": "<<team>>"}`)
		p.admin().must("Bindings/Create", `{"subjectKind": "group", "subject": "<<team>>", "actions": ["read"], "place": {"cluster": %q}}`, edge)
		const member = `{"group": "<<team>>", "user": "<<former>>@example.com"}`
		return p.lost(func() { p.admin().must("Groups/AddMember", member) }, func() { p.admin().must("Groups/RemoveMember", member) })
	},
}

// lost opens streams of somebody who has a right for a while, and returns which one is open
// after its end, or that the token is as good as before.
func (p *Play) lost(give, take func()) string {
	p.apply(editors)
	former := p.person("former", "")
	give()
	const objects = "/api/v1/namespaces/default/configmaps"
	p.either("the API server knows the role of editors", func() string {
		return http.StatusText(former.send(p.ctx, http.MethodGet, api(objects), "", nil).status)
	}, http.StatusText(http.StatusOK))
	streams := map[string]<-chan string{
		"a watch through the proxy": former.watch(p.ctx, objects+"?watch=1"),
		"ClusterAPI/WatchObjects":   former.stream("ClusterAPI/WatchObjects", `{"objects": {"cluster": %q, "version": "v1", "resource": "configmaps", "namespace": "default"}}`, edge),
	}
	take()
	deadline := time.Now().Add(grace)
	for name, lines := range streams {
		if !ended(lines, time.After(time.Until(deadline))) {
			return name + " is open " + grace.String() + " after the right ended"
		}
	}
	for _, read := range []answer{
		former.call("Clusters/Get", `{"name": %q}`, edge),
		former.send(p.ctx, http.MethodGet, api(objects), "", nil),
		former.call("ClusterAPI/ListObjects", `{"objects": {"cluster": %q, "version": "v1", "resource": "configmaps", "namespace": "default"}}`, edge),
	} {
		if read.ok() {
			return fmt.Sprintf("the token reads what it read before: %.100s", read.text)
		}
	}
	return ""
}
