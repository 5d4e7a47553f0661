package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"slices"
)

// definitions picks the CRDs of the kinds of p, with the versions that templates name and
// without the texts for people: what an API server judges by, and no more.
func definitions(p provider, objects []object) ([]object, error) {
	var found []object
	for group, kinds := range p.kinds {
		for _, kind := range kinds {
			crd := definition(objects, group, kind)
			if crd == nil {
				return nil, fmt.Errorf("%s has no %s of %s", p.name, kind, group)
			}
			found = append(found, crd)
		}
	}
	return found, nil
}

func definition(objects []object, group, kind string) object {
	for _, o := range objects {
		spec, _ := o["spec"].(object)
		if o["kind"] != "CustomResourceDefinition" || spec["names"].(object)["kind"] != kind {
			continue
		}
		for _, v := range spec["versions"].([]any) {
			version := v.(object)
			if fmt.Sprint(spec["group"], "/", version["name"]) != group {
				continue
			}
			version["storage"], version["served"] = true, true
			delete(version, "additionalPrinterColumns")
			version["schema"].(object)["openAPIV3Schema"] = terse(version["schema"].(object)["openAPIV3Schema"])
			return object{
				"apiVersion": o["apiVersion"], "kind": o["kind"],
				"metadata": object{"name": o["metadata"].(object)["name"]},
				"spec":     object{"group": spec["group"], "names": spec["names"], "scope": spec["scope"], "versions": []any{version}},
			}
		}
	}
	return nil
}

// terse leaves out the descriptions of a schema. A property may be called description.
func terse(value any) any {
	schema, ok := value.(object)
	if !ok {
		return value
	}
	delete(schema, "description")
	for key, child := range schema {
		switch key {
		case "properties", "patternProperties":
			for _, property := range child.(object) {
				terse(property)
			}
		case "items", "additionalProperties", "not":
			terse(child)
		case "allOf", "anyOf", "oneOf":
			for _, one := range child.([]any) {
				terse(one)
			}
		}
	}
	return value
}

// pack makes one file of definitions, with the same bytes for the same definitions.
func pack(crds []object) ([]byte, error) {
	name := func(o object) string { return o["metadata"].(object)["name"].(string) }
	slices.SortFunc(crds, func(a, b object) int { return bytes.Compare([]byte(name(a)), []byte(name(b))) })
	text, err := json.Marshal(crds)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := zip.Write(text); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
