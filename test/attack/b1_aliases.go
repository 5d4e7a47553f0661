package attack

import "strings"

var yamlAliases = Attack{
	Class: "B1", Name: "yaml-aliases", Needs: API,
	Story: "Somebody who may write one cluster sends a patch of 40 KB whose aliases make it 64 MB, and later one of a megabyte that would be 50 GB, and wants the hub to run out of memory.",
	Play: func(p *Play) string {
		mallory := p.project("lab")
		p.newCluster("mine", "lab", "")
		patch := "a: &a " + strings.Repeat("x", 10_000) + "\nb:\n" + strings.Repeat("- *a\n", 6400)
		sent := mallory.call("ClusterAPI/WriteObject", `{"objects": {"cluster": "<<mine>>", "version": "v1", "resource": "configmaps", "namespace": "default"}, "verb": "patch", "name": "x", "object": %s}`, quoted(patch))
		if !strings.Contains(sent.text, "aliases") {
			return "the hub makes 64 MB of a patch of 40 KB"
		}
		return ""
	},
}
