package attack

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// dearStep is a template that is dear in a text that looks cheap, for objects.
const dearStep = `{% assign big = 60000 | repeat: 'a' %}{% for i in (1..9000) %}{% assign x = '(a+a+)+y' | regexMatch: big %}{% endfor %}`

var dearGeneratedSecrets = Attack{
	Class: "B2", Name: "dear-generated-secrets", Needs: Operator,
	Story: "Somebody with a namespace makes twenty GeneratedSecrets whose templates are dear, and wants the operator's workers for hours.",
	Play: func(p *Play) string {
		p.project("lab")
		return p.delayed(`{apiVersion: deployments.plural.sh/v1alpha1, kind: GeneratedSecret, metadata: {name: dear-NUMBER, namespace: <<team>>},
spec: {destinations: [{name: dear-NUMBER}], template: {a: "` + dearStep + `"}}}`)
	},
}

var dearClusterSyncs = Attack{
	Class: "B2", Name: "dear-cluster-syncs", Needs: Operator,
	Story: "The same with ClusterSyncs, whose templates are rendered for each cluster.",
	Play: func(p *Play) string {
		p.project("lab")
		for n := range 5 {
			p.newCluster(fmt.Sprintf("edge-%d", n), "lab", "")
		}
		return p.delayed(`{apiVersion: deployments.plural.sh/v1alpha1, kind: ClusterSync, metadata: {name: dear-NUMBER, namespace: <<team>>},
spec: {clusterSpec: {metadata: {name: "c-NUMBER-{{ cluster.handle }}` + dearStep + `"}, spec: {handle: "{{ cluster.handle }}"}}}}`)
	},
}

// delayed makes twenty dear objects in the namespace of a team, and returns how long a
// Secret of another one takes meanwhile, if that is too long.
func (p *Play) delayed(dear string) string {
	p.project("shop")
	p.tenant("other", "shop")
	p.tenant("team", "lab")
	before, err := p.rendered("other", "before", limit/3)
	if err != nil {
		p.fail("%w", err)
	}
	var after time.Duration
	for n := range 3 { // a machine that stood still is no dear object
		var all []string
		for m := range 20 {
			all = append(all, strings.ReplaceAll(dear, "NUMBER", strconv.Itoa(20*n+m)))
		}
		p.apply(strings.Join(all, "\n---\n"))
		if after, err = p.rendered("other", fmt.Sprintf("after-%d", n), before+watched); err == nil {
			return ""
		}
	}
	return fmt.Sprintf("a Secret of another team is not there after %s, before it took %s", after.Round(time.Second), before.Round(time.Millisecond))
}
