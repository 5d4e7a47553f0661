package attack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/axle-cd/axle/internal/child"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/bin"
)

// The namespace of the operator, and the control plane's own Secrets in it.
const adminSpace, ownSecret = "axle-system", "axle-backup"

// operate starts an operator on the cluster, with an account that may write everything.
func (t *Target) operate(ctx context.Context) error {
	root, err := bin.Root()
	if err != nil {
		return err
	}
	program, err := bin.Path(ctx, "axle-operator", bin.Options{})
	if err != nil {
		return err
	}
	if err := t.Bed.apply(ctx, `{apiVersion: v1, kind: Namespace, metadata: {name: `+adminSpace+`}}`); err != nil {
		return err
	}
	deploy := filepath.Join(root, "deploy")
	if _, err := t.Bed.world.Kubectl(ctx, edge, "apply", "--server-side", "-f", filepath.Join(deploy, "crds"), "-f", filepath.Join(deploy, "operator", "rbac.yaml")); err != nil {
		return err
	}
	kubeconfig, err := t.Bed.cluster.KubeconfigFor("system:serviceaccount:" + adminSpace + ":axle-operator")
	if err != nil {
		return err
	}
	p := &Play{Target: t, ctx: ctx}
	p.admin().call("ServiceAccounts/Create", `{"name": "operator"}`)
	p.admin().call("Bindings/Create", `{"subjectKind": "service_account", "subject": "operator", "actions": ["read", "write", "create", "git"], "place": {}}`)
	token := filepath.Join(t.Bed.world.Dir, "operator-token")
	made := p.admin().call("ServiceAccounts/CreateToken", `{"account": "operator", "name": "run", "scopes": ["read", "write"]}`)
	if !made.ok() {
		return fmt.Errorf("a token of the operator: %d: %s", made.status, made.text)
	}
	if err := os.WriteFile(token, []byte(made.field("secret")), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(t.Bed.world.Dir, "operator.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	operator := exec.Command(program, "run", "--kubeconfig", kubeconfig, "--hub-url", t.URL, "--token-file", token, "--own-secrets", ownSecret, "--leader-elect=false", "--metrics-listen", "off", "--health-listen", "off")
	operator.Stdout, operator.Stderr = log, log
	if err := child.Start(operator); err != nil {
		return err
	}
	t.Bed.operator = operator
	return nil
}

// tenant makes a namespace whose objects act as an account with rights in a project.
func (p *Play) tenant(namespace, project string) {
	p.admin().must("ServiceAccounts/Create", `{"name": "<<%s>>"}`, namespace)
	p.admin().must("Bindings/Create", `{"subjectKind": "service_account", "subject": "<<%s>>", "actions": ["read", "write", "create", "git"], "place": %s}`, namespace, p.place(project))
	token := p.admin().must("ServiceAccounts/CreateToken", `{"account": "<<%s>>", "name": "run", "scopes": ["read", "write"]}`, namespace).field("secret")
	p.apply(`{apiVersion: v1, kind: Namespace, metadata: {name: <<` + namespace + `>>}}`)
	p.apply(`{apiVersion: v1, kind: Secret, metadata: {name: hub, namespace: <<` + namespace + `>>}, stringData: {token: ` + token + `}}`)
	for _, role := range []string{"axle-operator-tenant", "axle-operator-secrets"} {
		p.apply(`{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: ` + role + `, namespace: <<` + namespace + `>>},
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ` + role + `}, subjects: [{kind: ServiceAccount, name: axle-operator, namespace: ` + adminSpace + `}]}`)
	}
	p.apply(`{apiVersion: deployments.plural.sh/v1alpha1, kind: NamespaceCredentials, metadata: {name: <<` + namespace + `>>}, spec: {namespaces: [<<` + namespace + `>>], secretRef: {name: hub, namespace: <<` + namespace + `>>}}}`)
}

// object reads an object, or all of a kind, as YAML; empty when it is not there.
func (p *Play) object(kind, namespace string, name ...string) string {
	args := append([]string{"get", kind, "--namespace", p.fill(namespace), "--ignore-not-found", "--output", "yaml"}, name...)
	got, err := p.Bed.world.Kubectl(p.ctx, edge, args...)
	if err != nil {
		p.fail("%w", err)
	}
	return got.Out
}

// synchronized waits until the operator has handled an object, and returns the status of
// its condition with what it reports.
func (p *Play) synchronized(kind, namespace, name string) (status, message string) {
	const path = `jsonpath={.status.conditions[?(@.type=="Synchronized")].status}|{.status.conditions[?(@.type=="Synchronized")].message}`
	err := eventually.Wait(p.ctx, limit, func() error {
		got, err := p.Bed.world.Kubectl(p.ctx, edge, "get", kind, "--namespace", p.fill(namespace), p.fill(name), "--output", path)
		if err != nil {
			return err
		}
		status, message, _ = strings.Cut(got.Out, "|")
		if status == "" {
			return fmt.Errorf("%s %s has no condition", kind, name)
		}
		return nil
	})
	if err != nil {
		p.fail("%w; the operator's log ends with %s", err, p.operatorLog())
	}
	return status, message
}

// operatorLog is the end of the operator's log.
func (p *Play) operatorLog() string {
	text, _ := os.ReadFile(filepath.Join(p.Bed.world.Dir, "operator.log"))
	return string(text[max(0, len(text)-1000):])
}

// rendered returns how long a GeneratedSecret of a namespace takes until it is rendered.
func (p *Play) rendered(namespace, name string, within time.Duration) (time.Duration, error) {
	began := time.Now()
	p.apply(`{apiVersion: deployments.plural.sh/v1alpha1, kind: GeneratedSecret, metadata: {name: ` + name + `, namespace: <<` + namespace + `>>}, spec: {template: {a: b}, destinations: [{name: ` + name + `}]}}`)
	err := eventually.Wait(p.ctx, within, func() error {
		if p.object("secret", "<<"+namespace+">>", name) == "" {
			return fmt.Errorf("no Secret %s; the operator's log ends with %s", name, p.operatorLog())
		}
		return nil
	})
	return time.Since(began), err
}
