package attack

import (
	"fmt"
	"time"
)

// watched is how long others' waits are measured while a dear expression may run, tolerated
// how much longer one of them may take than before.
const watched, tolerated = 10 * time.Second, 3 * time.Second

// A step of a template that is dear, in a text that looks cheap.
const (
	dearText = `{%% assign big = 60000 | repeat: 'a' %%}{%% for i in (1..9000) %%}{%% assign x = %s %%}{%% endfor %%}web%d`
	replaces = `big | replace: 'a', 'bb'`
	matches  = `'(a+a+)+y' | regexMatch: big`
)

var dearLiquid = Attack{
	Class: "B1", Name: "dear-liquid", Needs: Bed,
	Story: "Somebody with a project writes a global service there whose Liquid is dear, and wants everybody else to wait.",
	Play:  func(p *Play) string { return p.dear(replaces) },
}

// dear writes a global service of a project whose folder is Liquid, on ten clusters, and
// returns how long an administrator waited meanwhile, if that is too long.
func (p *Play) dear(step string) string {
	mallory := p.project("lab")
	for n := range 10 {
		p.newCluster(fmt.Sprintf("edge-%d", n), "lab", "")
	}
	mallory.must("Repositories/Create", `{"name": "<<git>>", "project": "<<lab>>", "url": "http://127.0.0.1:1/x.git"}`)
	p.admin().must("Contexts/Create", `{"context": {"name": "<<others>>", "values": "{}"}}`)
	before := p.slowest(2 * time.Second)
	write := func(n int) {
		mallory.call("GlobalServices/Apply", `{"name": "<<dear-%d>>", "settings": {"project": "<<lab>>"}, "spec": {"repository": "<<git>>", "git": {"ref": "main", "folder": %s}}}`, n, quoted(fmt.Sprintf(dearText, step, n)))
	}
	write(0)
	write(1)
	after := p.slowest(watched)
	if after > before+tolerated {
		// A machine with other work makes one write wait; an expression that runs makes all wait.
		write(2)
		write(3)
		after = min(after, p.slowest(watched))
	}
	if after > before+tolerated {
		return fmt.Sprintf("an administrator's write waits %s, before it was %s", after.Round(time.Millisecond), before.Round(time.Millisecond))
	}
	return ""
}
