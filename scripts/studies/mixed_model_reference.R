# Rscript mixed_model_reference.R TRIALS.csv: lme4's fit as JSON; run by mixed_model_reference.py.
suppressPackageStartupMessages(library(lme4))

trials <- read.csv(commandArgs(trailingOnly = TRUE)[1], colClasses = c(unit = "character"))
trials$condition <- factor(trials$condition, levels = unique(trials$condition))
formula <- correct ~ condition + (1 | participant) + (1 + condition | unit) + (1 | unit:image_set)
if ("network" %in% names(trials)) formula <- update(formula, . ~ . + (1 | network))
model <- glmer(
  formula,
  data = trials, family = binomial, nAGQ = 1,
  control = glmerControl(optimizer = "bobyqa", optCtrl = list(maxfun = 2e5, rhoend = 1e-9), tolPwrss = 1e-12)
)

numbers <- function(x) paste0("[", paste(format(as.numeric(x), digits = 12), collapse = ", "), "]")
spread <- VarCorr(model)
unit <- spread[["unit"]]
cat(sprintf(
  paste0(
    '{"versions": "R %s.%s, lme4 %s", "estimate": %s, "covariance": %s, "participant": %s, "unit": %s,',
    ' "unit_correlation": %s, "unit_set": %s, "network": %s, "log_likelihood": %s, "singular": %s}\n'
  ),
  R.version$major, R.version$minor, packageVersion("lme4"), numbers(fixef(model)), numbers(as.matrix(vcov(model))),
  numbers(attr(spread[["participant"]], "stddev")), numbers(attr(unit, "stddev")),
  numbers(attr(unit, "correlation")), numbers(attr(spread[["unit:image_set"]], "stddev")),
  numbers(attr(spread[["network"]], "stddev")),
  format(as.numeric(logLik(model)), digits = 12), tolower(as.character(isSingular(model)))
))
