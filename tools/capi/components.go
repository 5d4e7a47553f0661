package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

type object = map[string]any

// component is what is installed of a provider.
type component struct {
	objects []object
	// namespace is the one of its manager, secret the name of the Secret that is left out
	// because it would hold credentials, or empty.
	namespace, secret string
}

// build makes the objects of p as its project releases them: the image is that of the version,
// variables have their values. Secrets, which would hold credentials, are left out.
func build(p provider) (component, error) {
	var out component
	dir, err := fetch(p)
	if err != nil {
		return out, err
	}
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	made, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), filepath.Join(dir, p.folder, "config/default"))
	if err != nil {
		return out, fmt.Errorf("%s: %w", p.name, err)
	}
	managers := 0
	for _, resource := range made.Resources() {
		switch resource.GetKind() {
		case "Secret":
			out.secret = resource.GetName()
			continue
		case "Namespace":
			out.namespace = resource.GetName()
		}
		text, err := resource.MarshalJSON()
		if err != nil {
			return out, fmt.Errorf("%s: %w", p.name, err)
		}
		var o object
		if err := yaml.Unmarshal(text, &o); err != nil {
			return out, fmt.Errorf("%s: %w", p.name, err)
		}
		if o["kind"] != "CustomResourceDefinition" { // their texts for people have examples with such variables
			filled, err := fill(o, p.settings)
			if err != nil {
				return out, fmt.Errorf("%s: %s %s: %w", p.name, resource.GetKind(), resource.GetName(), err)
			}
			o = filled.(object)
		}
		managers += rewrite(o, p)
		out.objects = append(out.objects, o)
	}
	if managers != 1 || out.namespace == "" {
		return out, fmt.Errorf("%s has %d containers of its manager, want 1, in the namespace %q", p.name, managers, out.namespace)
	}
	return out, nil
}

var (
	variable    = regexp.MustCompile(`\$\{([A-Z0-9_]+)(:=([^}]*))?\}`)
	conditional = "${AWS_CONTROLLER_IAM_ROLE/#" // becomes an annotation where the role is set
)

// fill puts values in the place of variables. One without a value and without a default is an
// error, so that no file needs a step that its users would have to know.
func fill(value any, settings map[string]string) (any, error) {
	var err error
	switch v := value.(type) {
	case string:
		filled := variable.ReplaceAllStringFunc(v, func(found string) string {
			parts := variable.FindStringSubmatch(found)
			if set, ok := settings[parts[1]]; ok {
				return set
			}
			if parts[2] == "" {
				err = fmt.Errorf("the variable %s has no value", parts[1])
			}
			return strings.Trim(parts[3], `"`)
		})
		if err == nil && strings.Contains(filled, "${") {
			err = fmt.Errorf("%q has a form of variable that is not known", filled)
		}
		return filled, err
	case object:
		for key, child := range v {
			if strings.HasPrefix(key, conditional) {
				delete(v, key)
				continue
			}
			if v[key], err = fill(child, settings); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
	case []any:
		for i, child := range v {
			if v[i], err = fill(child, settings); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// rewrite sets the image of the containers of a Deployment, and returns how many it set.
func rewrite(o object, p provider) int {
	if o["kind"] != "Deployment" {
		return 0
	}
	pod := o["spec"].(object)["template"].(object)["spec"].(object)
	containers := pod["containers"].([]any)
	for _, c := range containers {
		c.(object)["image"] = p.image + ":" + p.version
		c.(object)["imagePullPolicy"] = "IfNotPresent"
	}
	return len(containers)
}

// file is the component file of objects.
func file(p provider, objects []object) ([]byte, error) {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s %s, Apache-2.0, built from its module by tools/capi.\n", p.module, p.version)
	for _, o := range objects {
		text, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		out.WriteString("---\n")
		out.Write(text)
	}
	return out.Bytes(), nil
}
