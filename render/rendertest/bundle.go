package rendertest

import (
	"fmt"
	"strings"
)

// Bundle is a kustomization of CRDs like those of a large operator: five of some 2.4
// MB, 12 MB in all, with schemas nested as deep as those that contain whole pods.
func Bundle() Files {
	files := Files{}
	var names []string
	for n := range 5 {
		name := fmt.Sprintf("thing%d.yaml", n)
		names = append(names, name)
		files["crds/"+name] = definition(n)
	}
	files["crds/kustomization.yaml"] = "resources: [" + strings.Join(names, ", ") + "]\n"
	files["app/kustomization.yaml"] = "namespace: things\nresources: [../crds, controller.yaml]\nlabels: [{pairs: {team: things}}]\n"
	files["app/controller.yaml"] = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: controller}\n"
	return files
}

func definition(n int) string {
	var out strings.Builder
	fmt.Fprintf(&out, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: thing%[1]ds.example.org
spec:
  group: example.org
  names: {kind: Thing%[1]d, listKind: Thing%[1]dList, plural: thing%[1]ds, singular: thing%[1]d}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
`, n)
	schema(&out, 8, 8)
	return out.String()
}

// schema writes an object whose fields are objects, lists and, at the bottom, strings
// and numbers.
func schema(out *strings.Builder, indent, depth int) {
	blanks := strings.Repeat(" ", indent)
	line := func(text string) { out.WriteString(blanks + text + "\n") }
	if depth == 0 {
		line("description: A field of a part, as people write them")
		line("type: string")
		return
	}
	line("description: What holds other parts, and which of them are needed")
	line("type: object")
	line("properties:")
	for n := range 3 {
		out.WriteString(fmt.Sprintf("%s  field%d:\n", blanks, n))
		if n == 2 {
			out.WriteString(blanks + "    type: array\n" + blanks + "    items:\n")
			schema(out, indent+6, depth-1)
			continue
		}
		schema(out, indent+4, depth-1)
	}
}
