// Package manifest parses YAML and JSON text into Kubernetes objects, and reports
// errors with file and line. All renderers use it, so that a text means the same in
// each.
//
// It does not validate against a schema; the API server does. A document is an object
// with apiVersion, kind and metadata.name. An empty document yields nothing, a list
// yields its items, and numbers keep their digits.
package manifest
