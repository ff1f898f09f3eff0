// Package articles lists what four articles about the networks of Kubernetes claim, a claim per
// sentence that packets can prove or refute, with the verdict and with what proves it:
// expectations of scenarios that ship, which say so themselves (proves = ["articles.27"]).
package articles
