// Package expect holds the kinds of expectations that a scenario can state, one
// file each: what they claim, which flows prove it, and the judgement of what was
// seen. It knows neither HCL nor how a flow is dialed.
package expect
