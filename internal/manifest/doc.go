// Package manifest turns YAML and JSON text into Kubernetes objects and says
// where a text is wrong, by file and line. All makers use it, so one text
// means one thing in every renderer.
//
// It does not validate against a schema: the API server does. A document is an
// object with apiVersion, kind and metadata.name; an empty document is nothing;
// a list is its items; numbers keep their digits.
package manifest
